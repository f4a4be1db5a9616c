# Whole programs with more data than memory.
if(TARGET terrace_cli AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  find_package(Threads REQUIRED)
  add_executable(large_data programs/large_data.c)
  add_executable(mapped_data programs/mapped_data.c)
  add_library(fork_handlers SHARED programs/fork_handlers.c)
  add_executable(handled_data programs/handled_data.c)
  add_executable(early_child programs/early_child.c)
  target_compile_options(early_child PRIVATE -fno-builtin)  # it has an allocator
  # The allocator in the program itself, and as a library before it.
  add_executable(locked_allocator programs/locked_allocator.c)
  add_library(locked_allocator_library SHARED programs/locked_allocator.c)
  add_executable(locked_allocator_user programs/locked_allocator.c)
  target_compile_definitions(locked_allocator_library PRIVATE LIBRARY)
  target_compile_definitions(locked_allocator_user PRIVATE PROGRAM)
  foreach(target locked_allocator locked_allocator_library)
    target_compile_options(${target} PRIVATE -fno-builtin)
  endforeach()
  set_target_properties(fork_handlers early_child locked_allocator locked_allocator_library
    PROPERTIES C_VISIBILITY_PRESET default)
  add_executable(locked_data programs/locked_data.c)
  add_executable(scattered_data programs/scattered_data.c)
  add_executable(spilled_corners programs/spilled_corners.c)
  foreach(program large_data mapped_data fork_handlers early_child locked_allocator locked_allocator_library
    locked_allocator_user)
    target_link_libraries(${program} PRIVATE Threads::Threads)
  endforeach()
  target_link_libraries(handled_data PRIVATE fork_handlers)
  terrace_test(run_with_memory_limit_test SOURCES run_with_memory_limit_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900 COST 100 SOAK Seeds/*/2:Seeds/*/3:Seeds/*/4:Seeds/*/5)
  add_dependencies(run_with_memory_limit_test terrace_cli terrace large_data mapped_data handled_data early_child locked_data scattered_data
    spilled_corners locked_allocator locked_allocator_library locked_allocator_user)
  target_compile_definitions(run_with_memory_limit_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_LARGE_DATA="$<TARGET_FILE:large_data>" TERRACE_MAPPED_DATA="$<TARGET_FILE:mapped_data>"
    TERRACE_LOCKED_DATA="$<TARGET_FILE:locked_data>" TERRACE_SCATTERED_DATA="$<TARGET_FILE:scattered_data>" TERRACE_SPILLED_CORNERS="$<TARGET_FILE:spilled_corners>"
    TERRACE_HANDLED_DATA="$<TARGET_FILE:handled_data>" TERRACE_EARLY_CHILD="$<TARGET_FILE:early_child>"
    TERRACE_LOCKED_ALLOCATOR="$<TARGET_FILE:locked_allocator>"
    TERRACE_LOCKED_ALLOCATOR_USER="$<TARGET_FILE:locked_allocator_user>"
    TERRACE_LOCKED_ALLOCATOR_LIBRARY="$<TARGET_FILE:locked_allocator_library>"
    TERRACE_ARRAYS_IN_PYTHON="${TERRACE_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/programs/array_data.py")
  if(TERRACE_GFORTRAN)
    set(array_data ${CMAKE_CURRENT_BINARY_DIR}/array_data)
    add_custom_command(OUTPUT ${array_data} DEPENDS programs/array_data.f90 VERBATIM
      COMMAND ${TERRACE_GFORTRAN} -O2 -J${CMAKE_CURRENT_BINARY_DIR} -o ${array_data}
        ${CMAKE_CURRENT_SOURCE_DIR}/programs/array_data.f90)
    add_custom_target(array_data_program DEPENDS ${array_data})
    add_dependencies(run_with_memory_limit_test array_data_program)
    target_compile_definitions(run_with_memory_limit_test PRIVATE TERRACE_ARRAYS_IN_FORTRAN="${array_data}")
  endif()
endif()
