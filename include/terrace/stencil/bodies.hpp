// What makes a loop of a kernel and its arguments: code for a part of the loop, which knows no types outside.
#pragma once

#include <stdexcept>

#include "terrace/stencil/arguments.hpp"
#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/kernel.hpp"
#ifdef TERRACE_STENCIL_GPU
#include "terrace/stencil/gpu.hpp"
#endif

namespace terrace::stencil::detail {
TERRACE_STENCIL_BEGIN_TARGET

template <class Kernel, class... Arguments>
void set_bodies(Loop& loop, const Kernel& kernel, const Arguments&... arguments) {
#ifdef TERRACE_STENCIL_GPU
  if constexpr (k_is_for_gpu<Kernel>)
    loop.device = [kernel, arguments...](const DeviceCall& call) {
      launch(kernel, call, on_gpu_of(arguments, call)...);
    };
  if constexpr (k_is_for_gpu_alone<Kernel>) {
    loop.body = [](const Call& call) {
      throw std::logic_error("loop '" + call.loop.name +
                             "' was compiled for a GPU alone: take executor=gpu, or compile without nvcc");
    };
    return;
  } else
#endif
    loop.body = [kernel, arguments...](const Call& call) { walk(kernel, call, arguments...); };
}

TERRACE_STENCIL_END_TARGET
}  // namespace terrace::stencil::detail
