# Stencil programs on several MPI ranks, if MPI is available.
if(TARGET terrace-stencils-mpi AND TERRACE_MPIRUN AND NOT TERRACE_SANITIZE)
  find_package(nlohmann_json REQUIRED)
  # Open MPI refuses the superuser, and more ranks than cores, unless told otherwise.
  terrace_test(stencil_mpi_test SOURCES stencil_mpi_test.cpp DEPENDS nlohmann_json::nlohmann_json
    LABELS integration TIMEOUT 900
    ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1)
  add_dependencies(stencil_mpi_test terrace-stencils terrace-stencils-mpi)
  target_compile_definitions(stencil_mpi_test PRIVATE TERRACE_MPIRUN="${TERRACE_MPIRUN}"
    TERRACE_STENCILS="$<TARGET_FILE:terrace-stencils>" TERRACE_STENCILS_MPI="$<TARGET_FILE:terrace-stencils-mpi>")
endif()
