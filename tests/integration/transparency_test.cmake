# Transparency for programs, and detection of their objects.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(transparency_test SOURCES transparency_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 1800 COST 100 ONE_PROCESS)
  add_dependencies(transparency_test terrace_cli terrace_wrapper terrace terrace_unfollowed)
  target_compile_definitions(transparency_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>" TERRACE_LIBRARY="$<TARGET_FILE:terrace>"
    TERRACE_MAP="${PROJECT_BINARY_DIR}/src/agent/terrace.map"
    TERRACE_UNFOLLOWED="$<TARGET_FILE:terrace_unfollowed>"
    TERRACE_UNFOLLOWED_MAP="${PROJECT_BINARY_DIR}/src/agent/terrace_unfollowed.map")
endif()
