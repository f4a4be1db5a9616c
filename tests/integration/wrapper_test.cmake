# The compiler wrappers: their command lines, and the results of real compilers.
if(TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  terrace_test(wrapper_test SOURCES wrapper_test.cpp wrapper_rules_test.cpp DEPENDS terrace_wrapper_command LABELS integration TIMEOUT 900 COST 100)
  add_dependencies(wrapper_test terrace_wrapper terrace)
  target_compile_definitions(wrapper_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>")
endif()
