# The workloads, run natively as programs.
if(TARGET workload_cg)
  add_library(marker_probe MODULE marker_probe.c)
  set_target_properties(marker_probe PROPERTIES C_VISIBILITY_PRESET default)
  target_link_libraries(marker_probe PRIVATE terrace_flags)

  set(sanitized "")
  if(TERRACE_SANITIZE)
    set(sanitized TERRACE_SANITIZED)
  endif()
  terrace_test(workloads_test SOURCES workloads_test.cpp npb_test.cpp markers_test.cpp DEPENDS LABELS integration TIMEOUT 600)
  target_compile_definitions(workloads_test PRIVATE
    TERRACE_WORKLOADS_DIR="$<TARGET_FILE_DIR:workload_cg>" TERRACE_MARKER_PROBE="$<TARGET_FILE:marker_probe>"
    ${sanitized})
  add_dependencies(workloads_test marker_probe)
  foreach(workload IN ITEMS stream chase cg mg gups hashjoin spmv stencil btree sort hydro bt sp lu ft
          graph mergejoin tensor eddy)
    add_dependencies(workloads_test workload_${workload})
    if(TARGET workload_${workload}_openmp)
      add_dependencies(workloads_test workload_${workload}_openmp)
      target_compile_definitions(workloads_test PRIVATE TERRACE_WORKLOADS_OPENMP)
    endif()
  endforeach()
endif()
