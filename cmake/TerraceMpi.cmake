# MPI, where there is one, as the target PkgConfig::TERRACE_MPI, and what starts its programs as TERRACE_MPIRUN. By
# pkg-config: where several are installed, CMake's FindMPI may meet one without headers, and then ends with an error.
# PKG_CONFIG_PATH chooses another.
find_package(PkgConfig REQUIRED)
pkg_search_module(TERRACE_MPI QUIET IMPORTED_TARGET GLOBAL mpich ompi-c)
if(TERRACE_MPI_FOUND)
  if(TERRACE_MPI_MODULE_NAME STREQUAL mpich)
    find_program(TERRACE_MPIRUN NAMES mpirun.mpich mpiexec.hydra mpirun HINTS ${TERRACE_MPI_PREFIX}/bin)
  else()
    find_program(TERRACE_MPIRUN NAMES mpirun.openmpi mpirun HINTS ${TERRACE_MPI_PREFIX}/bin)
  endif()
  mark_as_advanced(TERRACE_MPIRUN)
  # Their classes of C++, which no one uses any more.
  target_compile_definitions(PkgConfig::TERRACE_MPI INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
endif()
