# Calls of libm in virtual time.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(libm_test SOURCES libm_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900)
  add_dependencies(libm_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(libm_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>" TERRACE_CC="${CMAKE_C_COMPILER}")
endif()
