# Repeatability of threads in virtual time.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(threads_test SOURCES threads_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100 SOAK Threads.Pipelines*)
  add_dependencies(threads_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(threads_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>")
endif()
