# A process under Terrace: its clocks, loaded libraries, children.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(process_test SOURCES process_test.cpp process_loops_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 1800 COST 100 ONE_PROCESS)
  add_dependencies(process_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(process_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
