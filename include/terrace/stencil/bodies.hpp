// SPDX-License-Identifier: Apache-2.0
// Builds the type-erased body of a loop from its kernel and arguments: a function by which an executor runs a part
// of the loop. Block::loop() (context.hpp) calls it.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "terrace/stencil/arguments.hpp"
#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/kernel.hpp"
#ifdef TERRACE_STENCIL_GPU
#include "terrace/stencil/gpu.hpp"
#endif

namespace terrace::stencil::detail {
TERRACE_STENCIL_BEGIN_TARGET

template <class Argument>
using CursorOf =
    decltype(std::declval<const Argument&>().cursor(std::declval<const Call&>(), std::declval<const Point&>()));
// States whether the kernel is callable with the accessors of these arguments.
template <class Kernel, class... Arguments>
inline constexpr bool k_takes =
    std::is_invocable_v<const Kernel&, decltype(std::declval<CursorOf<Arguments>&>().get(std::ptrdiff_t{}))...>;

template <class Kernel, class... Arguments>
void set_bodies(Loop& loop, const Kernel& kernel, const Arguments&... arguments) {
#ifndef TERRACE_STENCIL_GPU
  // nvcc cannot evaluate this for kernels that are __device__ only.
  static_assert(
      k_takes<Kernel, Arguments...>,
      "a kernel has one parameter for each argument of the loop behind it, in the same order, and is not "
      "mutable");
#endif
#ifdef TERRACE_STENCIL_GPU
  if constexpr (k_is_for_gpu<Kernel>)
    loop.device = [kernel, arguments...](const DeviceCall& call) {
      launch(kernel, call, on_gpu_of(arguments, call)...);
    };
  if constexpr (k_is_for_gpu_alone<Kernel>) {
    loop.body = [](const Call& call) {
      throw std::logic_error(
          "loop '" + call.loop.name +
          "' was compiled for a GPU only: run it with executor=gpu, or compile the program without nvcc");
    };
    return;
  } else
#endif
    loop.body = [kernel, arguments...](const Call& call) { walk(kernel, call, arguments...); };
}

TERRACE_STENCIL_END_TARGET
}  // namespace terrace::stencil::detail
