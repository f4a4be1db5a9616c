# Stencil programs compiled by nvcc, if available.
if(TARGET terrace-stencils-gpu)
  find_package(nlohmann_json REQUIRED)
  terrace_test(stencil_device_test SOURCES stencil_device_test.cpp DEPENDS nlohmann_json::nlohmann_json
    LABELS integration TIMEOUT 900)
  add_dependencies(stencil_device_test terrace-stencils terrace-stencils-gpu)
  target_compile_definitions(stencil_device_test PRIVATE TERRACE_STENCILS="$<TARGET_FILE:terrace-stencils>"
    TERRACE_STENCILS_GPU="$<TARGET_FILE:terrace-stencils-gpu>")
endif()
