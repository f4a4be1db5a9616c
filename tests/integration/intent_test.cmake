# Whole programs whose data is placed by intent.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(by_intent programs/by_intent.c)
  target_link_libraries(by_intent PRIVATE terrace Threads::Threads)
  add_executable(intent_ranges intent_ranges.c)
  target_link_libraries(intent_ranges PRIVATE terrace)
  add_executable(without_call programs/without_call.c)
  terrace_test(intent_test SOURCES intent_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100)
  add_dependencies(intent_test terrace_cli terrace by_intent intent_ranges without_call)
  target_compile_definitions(intent_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_BY_INTENT="$<TARGET_FILE:by_intent>" TERRACE_INTENT_RANGES="$<TARGET_FILE:intent_ranges>"
    TERRACE_WITHOUT_CALL="$<TARGET_FILE:without_call>")
  if(TERRACE_GFORTRAN)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/by_intent_fortran)
    set(sources ${PROJECT_SOURCE_DIR}/include/terrace/terrace.f90
      ${CMAKE_CURRENT_SOURCE_DIR}/programs/by_intent.f90)
    add_custom_command(OUTPUT ${program}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.modules
      COMMAND ${TERRACE_GFORTRAN} -O1 -J${program}.modules -o ${program} ${sources} $<TARGET_FILE:terrace>
        -Wl,-rpath,$<TARGET_FILE_DIR:terrace>
      DEPENDS ${sources} terrace VERBATIM)
    add_custom_target(by_intent_in_fortran DEPENDS ${program})
    add_dependencies(intent_test by_intent_in_fortran)
    target_compile_definitions(intent_test PRIVATE TERRACE_BY_INTENT_FORTRAN="${program}")
  endif()
endif()
