# The tracer: QEMU user mode with Terrace's plug-in, on a program built by the plain compiler.
if(TARGET terrace_qemu)
  add_executable(traced traced.c)
  find_package(Threads REQUIRED)
  target_link_libraries(traced PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(traced PRIVATE -O1 -g -fno-builtin-memcpy)
  target_link_options(traced PRIVATE -Wl,--build-id)
  set_target_properties(traced PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  terrace_test(trace_test SOURCES trace_test.cpp DEPENDS terrace_trace_misses LABELS integration TIMEOUT 900)
  add_dependencies(trace_test traced terrace_qemu terrace_traced)
  target_compile_definitions(trace_test PRIVATE TERRACE_ISA="${CMAKE_SYSTEM_PROCESSOR}"
    TERRACE_PLUGIN="$<TARGET_FILE:terrace_qemu>" TERRACE_TRACED_LIBRARY="$<TARGET_FILE:terrace_traced>"
    TERRACE_TRACED_PROGRAM="$<TARGET_FILE:traced>" TERRACE_SCRATCH="${CMAKE_CURRENT_BINARY_DIR}")
endif()
