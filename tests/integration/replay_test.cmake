# Replays against executions: the same profile, to the last bit; recordings that leave iterations out; phases with core
# times of their own; programs that are profiled again; plans of smaller runs; hints. The workloads are built once, with the wrappers.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/hooked)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/workloads/*.[ch]pp
    ${PROJECT_SOURCE_DIR}/workloads/*/workload.toml)
  add_custom_command(OUTPUT ${folder}/built
    COMMAND ${CMAKE_COMMAND} -E env CXX=$<TARGET_FILE_DIR:terrace_wrapper>/terrace-c++
      sh ${PROJECT_SOURCE_DIR}/workloads/build.sh ${folder} ${TERRACE_HOOKED_WORKLOADS}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/built
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/workloads/build.sh terrace_wrapper terrace
    COMMENT "Building the workloads with the wrappers" VERBATIM)
  add_custom_target(hooked_workloads ALL DEPENDS ${folder}/built)
  # Cases for `make soak`; all but the first of a kind that takes long.
  set(plan_of_other_class_test_soak SOAK All/*)
  set(replay_test_soak SOAK All/Programs.*/cg:All/Programs.*/found:All/Programs.*/eddy)
  foreach(test IN ITEMS replanning_test plan_of_other_class_test given_plan_test hints_test phase_costs_test replay_test sampled_iterations_test baselines_test
      file_memory_program_test)
    terrace_test(${test} SOURCES ${test}.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 150
      ${${test}_soak})
    add_dependencies(${test} terrace_cli terrace_wrapper terrace hooked_workloads)
    target_compile_definitions(${test} PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
      TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>" TERRACE_HOOKED="${folder}")
  endforeach()
  terrace_soak_test(sampled_iterations_test *UnobservedIterations* TERRACE_INLINED_LEVELS=all)
  target_include_directories(replay_test PRIVATE ${TERRACE_WORKLOAD_TABLE})
  target_link_libraries(plan_of_other_class_test PRIVATE terrace_store terrace_plan_io)
endif()
