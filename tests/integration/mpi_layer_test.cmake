# Programs of each MPI installation under libterrace-mpi.so, in Python: installations are found at run time.
# Environment variable TERRACE_MPI_PREFIXES names more of them (mpi/installations.py).
if(TARGET terrace_mpi AND NOT TERRACE_SANITIZE)
  add_test(NAME mpi_layer_test
    COMMAND ${TERRACE_TEST_PYTHON} -m pytest -p no:cacheprovider -q -ra ${CMAKE_CURRENT_SOURCE_DIR}/mpi)
  set_tests_properties(mpi_layer_test PROPERTIES LABELS integration TIMEOUT 1800 COST 150
    ENVIRONMENT "TERRACE_MPI_LAYER=$<TARGET_FILE:terrace_mpi>")
endif()
