# Instrumentation coverage of time and of heap.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(coverage_test SOURCES coverage_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100 ONE_PROCESS)
  add_dependencies(coverage_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(coverage_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
