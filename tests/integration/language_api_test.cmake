# Programs that allocate by intent through the C++ and Fortran APIs and hbwmalloc.h.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  # As users do: with the public headers only, not linked with Terrace.
  add_executable(containers programs/containers.cpp)
  target_include_directories(containers PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(containers PRIVATE Threads::Threads)
  set_target_properties(containers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_options(containers PRIVATE -no-pie)
  add_executable(every_small programs/every_small.c)
  target_link_libraries(every_small PRIVATE terrace)
  target_compile_options(every_small PRIVATE -fno-builtin)
  add_executable(hbw_calls programs/hbw_calls.c)
  target_link_libraries(hbw_calls PRIVATE terrace_hbw Threads::Threads)
  # Linked with a stub that only has memkind's name.
  add_library(memkind_in_name SHARED EXCLUDE_FROM_ALL programs/memkind_in_name.c)
  set_target_properties(memkind_in_name PROPERTIES OUTPUT_NAME memkind SOVERSION 0 C_VISIBILITY_PRESET default)
  add_executable(hbw_calls_memkind programs/hbw_calls.c)
  target_include_directories(hbw_calls_memkind PRIVATE ${PROJECT_SOURCE_DIR}/include/terrace)
  target_link_libraries(hbw_calls_memkind PRIVATE memkind_in_name Threads::Threads)
  set_target_properties(hbw_calls_memkind PROPERTIES SKIP_BUILD_RPATH ON)
  add_executable(hbw_containers programs/hbw_containers.cpp)
  target_link_libraries(hbw_containers PRIVATE terrace_hbw)
  terrace_test(language_api_test SOURCES language_api_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100)
  terrace_soak_test(language_api_test *ByMemkindNames* TERRACE_ALL_COMBINATIONS=1)
  add_dependencies(language_api_test terrace_cli terrace containers every_small hbw_calls hbw_calls_memkind hbw_containers)
  target_compile_definitions(language_api_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_CONTAINERS="$<TARGET_FILE:containers>" TERRACE_EVERY_SMALL="$<TARGET_FILE:every_small>"
    TERRACE_HBW_CALLS="$<TARGET_FILE:hbw_calls>"
    TERRACE_HBW_CALLS_MEMKIND="$<TARGET_FILE:hbw_calls_memkind>" TERRACE_HBW_CONTAINERS="$<TARGET_FILE:hbw_containers>"
    TERRACE_MEMKIND_FOLDER="$<TARGET_FILE_DIR:terrace_hbw>/memkind")
  if(TERRACE_GFORTRAN)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/arrays_by_intent)
    set(headers ${PROJECT_SOURCE_DIR}/include/terrace)
    set(sources ${headers}/terrace.f90 ${headers}/terrace_arrays.F90
      ${CMAKE_CURRENT_SOURCE_DIR}/programs/arrays_by_intent.f90)
    add_custom_command(OUTPUT ${program}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.modules
      COMMAND ${TERRACE_GFORTRAN} -std=f2018 -O1 -J${program}.modules -o ${program} ${sources}
        $<TARGET_FILE:terrace> -Wl,-rpath,$<TARGET_FILE_DIR:terrace>
      DEPENDS ${sources} ${headers}/terrace_arrays.inc terrace VERBATIM)
    add_custom_target(arrays_by_intent_in_fortran DEPENDS ${program})
    add_dependencies(language_api_test arrays_by_intent_in_fortran)
    target_compile_definitions(language_api_test PRIVATE TERRACE_ARRAYS_BY_INTENT="${program}")
  endif()
endif()
