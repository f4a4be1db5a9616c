# SPDX-License-Identifier: Apache-2.0
# Finds MPI, if installed: the target PkgConfig::TERRACE_MPI, and its launcher TERRACE_MPIRUN. Uses pkg-config,
# because CMake's FindMPI fails if it meets an installation without headers among several. PKG_CONFIG_PATH selects
# another one.
find_package(PkgConfig REQUIRED)
pkg_search_module(TERRACE_MPI QUIET IMPORTED_TARGET GLOBAL mpich ompi-c)
if(TERRACE_MPI_FOUND)
  if(TERRACE_MPI_MODULE_NAME STREQUAL mpich)
    find_program(TERRACE_MPIRUN NAMES mpirun.mpich mpiexec.hydra mpirun HINTS ${TERRACE_MPI_PREFIX}/bin)
  else()
    find_program(TERRACE_MPIRUN NAMES mpirun.openmpi mpirun HINTS ${TERRACE_MPI_PREFIX}/bin)
  endif()
  mark_as_advanced(TERRACE_MPIRUN)
  # Exclude the obsolete C++ bindings.
  target_compile_definitions(PkgConfig::TERRACE_MPI INTERFACE MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
endif()
