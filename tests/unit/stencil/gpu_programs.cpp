// Compiles the stencil programs as nvcc would, with the host's compiler and fakes of CUDA. Their kernels run on every
// executor.
// clang-format off: the fake must be included first, since it selects the target
#define FAKE_CUDA_BOTH
#include "fake_cuda/cuda_runtime.h"
// clang-format on

#include "workloads/stencils/programs/cloverleaf2d.cpp"
#include "workloads/stencils/programs/heat.cpp"
#include "workloads/stencils/programs/jacobi.cpp"

namespace terrace::stencil::programs {

const std::vector<const StencilProgram*>& stencil_programs() {
  static const std::vector<const StencilProgram*> all{&cloverleaf2d_program(), &heat_program(), &jacobi_program()};
  return all;
}

}  // namespace terrace::stencil::programs
