# Programs with region annotations. Each is built if its libraries are available.
if(TARGET terrace_cli AND TARGET terrace_wrapper AND NOT TERRACE_SANITIZE)
  find_package(SQLite3 REQUIRED)
  terrace_test(regions_test SOURCES regions_test.cpp DEPENDS SQLite::SQLite3 LABELS integration TIMEOUT 900)
  add_dependencies(regions_test terrace_cli terrace_wrapper terrace)
  target_compile_definitions(regions_test PRIVATE TERRACE_LAUNCHER="$<TARGET_FILE:terrace_cli>"
    TERRACE_LIBRARY="$<TARGET_FILE:terrace>")
  set(regions ${CMAKE_CURRENT_SOURCE_DIR}/programs/regions)
  target_compile_definitions(regions_test PRIVATE TERRACE_WRAPPERS="$<TARGET_FILE_DIR:terrace_wrapper>"
    TERRACE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TERRACE_REGIONS="${regions}")

  add_library(caliper_stand_in SHARED ${regions}/caliper.c)
  add_executable(caliper_regions ${regions}/caliper_regions.cpp)
  target_link_libraries(caliper_regions PRIVATE caliper_stand_in ${CMAKE_DL_LIBS})
  add_dependencies(regions_test caliper_regions)
  target_compile_definitions(regions_test PRIVATE TERRACE_CALIPER_REGIONS="$<TARGET_FILE:caliper_regions>"
    TERRACE_CALIPER="$<TARGET_FILE:caliper_stand_in>" TERRACE_CALIPER_FOLDER="$<TARGET_FILE_DIR:caliper_stand_in>")

  find_path(TERRACE_NVTX nvtx3/nvToolsExt.h PATHS /usr/local/cuda/include)
  mark_as_advanced(TERRACE_NVTX)
  if(TERRACE_NVTX)
    add_executable(nvtx_regions ${regions}/nvtx_regions.c)
    target_include_directories(nvtx_regions SYSTEM PRIVATE ${TERRACE_NVTX})
    find_package(Threads REQUIRED)
    target_link_libraries(nvtx_regions PRIVATE ${CMAKE_DL_LIBS} Threads::Threads)
    add_dependencies(regions_test nvtx_regions)
    target_compile_definitions(regions_test PRIVATE TERRACE_NVTX_REGIONS="$<TARGET_FILE:nvtx_regions>")
  endif()

  find_path(TERRACE_KOKKOS Kokkos_Core.hpp PATH_SUFFIXES trilinos kokkos)
  find_library(TERRACE_KOKKOS_LIBRARY NAMES trilinos_kokkoscore kokkoscore)
  mark_as_advanced(TERRACE_KOKKOS TERRACE_KOKKOS_LIBRARY)
  if(TERRACE_KOKKOS AND TERRACE_KOKKOS_LIBRARY)
    add_executable(kokkos_regions ${regions}/kokkos_regions.cpp)
    target_include_directories(kokkos_regions SYSTEM PRIVATE ${TERRACE_KOKKOS})
    target_link_libraries(kokkos_regions PRIVATE ${TERRACE_KOKKOS_LIBRARY} ${CMAKE_DL_LIBS})
    add_dependencies(regions_test kokkos_regions)
    target_compile_definitions(regions_test PRIVATE TERRACE_KOKKOS_REGIONS="$<TARGET_FILE:kokkos_regions>")
  endif()

  find_program(TERRACE_CLANG clang)
  mark_as_advanced(TERRACE_CLANG)
  if(TERRACE_CLANG)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/openmp_regions)
    execute_process(COMMAND ${TERRACE_CLANG} -fopenmp -x c -o ${CMAKE_CURRENT_BINARY_DIR}/has_openmp -
      INPUT_FILE ${regions}/has_openmp.c RESULT_VARIABLE has_no_openmp OUTPUT_QUIET ERROR_QUIET)
    if(NOT has_no_openmp)
      add_custom_command(OUTPUT ${program}
        COMMAND ${TERRACE_CLANG} -O2 -g -fopenmp -o ${program} ${regions}/openmp_regions.c
        DEPENDS ${regions}/openmp_regions.c ${regions}/work.h VERBATIM)
      add_custom_target(regions_of_openmp DEPENDS ${program})
      add_dependencies(regions_test regions_of_openmp)
      target_compile_definitions(regions_test PRIVATE TERRACE_OPENMP_REGIONS="${program}")
    endif()
  endif()
endif()
