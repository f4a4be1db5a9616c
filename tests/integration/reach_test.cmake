# What the hooks do not reach: of time and of heap.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(reach_test SOURCES reach_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 300)
  add_dependencies(reach_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(reach_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
