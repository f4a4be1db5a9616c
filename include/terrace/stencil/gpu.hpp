// SPDX-License-Identifier: Apache-2.0
// Launches kernels of stencil programs on a GPU: one thread for each point, or, in loops with a reduction, one
// warp for each row. Compiled by nvcc only. Bodies of loops (bodies.hpp) call it for the executor "gpu".
//
// Points of a row are added to its partial result in the order of x, as on the processor: a warp calls the
// kernel at 32 points, each with a private value, then adds these in order. So results are bitwise equal to the
// processor's if a kernel contributes at most one value at each point.
#pragma once

#include "terrace/stencil/target.hpp"

#ifdef TERRACE_STENCIL_GPU

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "terrace/stencil/arguments.hpp"
#include "terrace/stencil/chain.hpp"
#include "terrace/stencil/kernel.hpp"

namespace terrace::stencil::detail {
TERRACE_STENCIL_BEGIN_TARGET

template <class Kernel>
inline constexpr bool k_is_for_gpu_alone = __nv_is_extended_device_lambda_closure_type(Kernel);
template <class Kernel>
inline constexpr bool k_is_for_gpu = k_is_for_gpu_alone<Kernel> ||
                                     __nv_is_extended_host_device_lambda_closure_type(Kernel);

// --- arguments on the device ---

// Arguments other than reductions: nothing to do between points.
struct NoReduction {
  static constexpr bool k_reduces = false;
  __device__ void begin_row(std::ptrdiff_t /*y*/, std::ptrdiff_t /*z*/) {}
  __device__ void begin_points() {}
  __device__ void enter_points(int /*count*/) {}
  __device__ void end_row(std::ptrdiff_t /*y*/, std::ptrdiff_t /*z*/) {}
};

template <class T>
struct GpuField : NoReduction {
  T* origin;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
  GpuField(T* at, const View& view) : origin(at), row(view.row), plane(view.plane) {}
  __device__ Accessor<T> at(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
    return {origin + x + y * row + z * plane, row, plane};
  }
};

template <class T, std::size_t Axis>
struct GpuLine : NoReduction {
  const T* first;
  std::ptrdiff_t begin;
  GpuLine(const T* numbers, std::ptrdiff_t from) : first(numbers), begin(from) {}
  __device__ LineAccessor<T> at(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) {
    return LineAccessor<T>(first + ((Axis == 0 ? x : Axis == 1 ? y : z) - begin));
  }
};

struct GpuIndex : NoReduction {
  __device__ IndexAccessor at(std::ptrdiff_t x, std::ptrdiff_t y, std::ptrdiff_t z) { return {x, y, z}; }
};

template <class T>
__device__ void enter(const SumAccessor<T>& into, T value) {
  into += value;
}
template <class T, template <class> class Into>
__device__ void enter(const Into<T>& into, T value) {
  into(value);
}

// Returns the identity of the reduction.
template <class T, template <class> class Into>
[[nodiscard]] T of_no_points() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<Into<T>, SumAccessor<T>>) return T{};
  const auto most = Limits::has_infinity ? Limits::infinity() : Limits::max();
  const auto least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return std::is_same_v<Into<T>, MinAccessor<T>> ? most : least;
}

template <class T, template <class> class Into>
struct GpuReduction {
  static constexpr bool k_reduces = true;
  T* partials;
  std::ptrdiff_t first_y, first_z, rows;  // of the loop; `rows` is the number of rows in a plane
  T none = of_no_points<T, Into>();
  T row{};  // equal in all lanes
  T own{};  // value of this lane's point
  GpuReduction(T* kept, const Range& whole)
      : partials(kept), first_y(whole.begin[1]), first_z(whole.begin[2]), rows(whole.length(1)) {}
  __device__ T& kept(std::ptrdiff_t y, std::ptrdiff_t z) { return partials[(z - first_z) * rows + (y - first_y)]; }
  __device__ void begin_row(std::ptrdiff_t y, std::ptrdiff_t z) { row = kept(y, z); }
  __device__ void begin_points() { own = none; }
  __device__ Into<T> at(std::ptrdiff_t /*x*/, std::ptrdiff_t /*y*/, std::ptrdiff_t /*z*/) { return Into<T>(own); }
  __device__ void enter_points(int count) {
    for (int lane = 0; lane < count; ++lane) enter(Into<T>(row), __shfl_sync(~0U, own, lane));
  }
  __device__ void end_row(std::ptrdiff_t y, std::ptrdiff_t z) {
    if (threadIdx.x % 32 == 0) kept(y, z) = row;
  }
};

template <class T, Access How>
[[nodiscard]] auto on_gpu_of(const FieldArgument<T, How>& argument, const DeviceCall& call) {
  using Element = typename FieldArgument<T, How>::Element;
  const auto& view = call.views[argument.at];
  return GpuField<Element>(reinterpret_cast<Element*>(view.origin), view);
}
template <class T, std::size_t Axis>
[[nodiscard]] GpuLine<T, Axis> on_gpu_of(const LineArgument<T, Axis>& argument, const DeviceCall& call) {
  return {reinterpret_cast<const T*>(call.lines[argument.at]), argument.begin};
}
[[nodiscard]] inline GpuIndex on_gpu_of(const IndexArgument& /*argument*/, const DeviceCall& /*call*/) {
  return {};
}
template <class T, template <class> class Into>
[[nodiscard]] GpuReduction<T, Into> on_gpu_of(const ReductionArgument<T, Into>& argument, const DeviceCall& call) {
  return {reinterpret_cast<T*>(call.partials[argument.at]), call.loop.range};
}

// --- launches ---

struct GpuPart {
  std::ptrdiff_t begin[k_max_dims];
  std::ptrdiff_t end[k_max_dims];
};

template <class Kernel, class... Bound>
__global__ void do_points(const Kernel kernel, const GpuPart part, Bound... bound) {
  const auto step_x = static_cast<std::ptrdiff_t>(gridDim.x) * blockDim.x;
  const auto step_y = static_cast<std::ptrdiff_t>(gridDim.y) * blockDim.y;
  const auto own_x = static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto own_y = static_cast<std::ptrdiff_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  for (auto z = part.begin[2] + static_cast<std::ptrdiff_t>(blockIdx.z); z < part.end[2]; z += gridDim.z)
    for (auto y = part.begin[1] + own_y; y < part.end[1]; y += step_y)
      for (auto x = part.begin[0] + own_x; x < part.end[0]; x += step_x) kernel(bound.at(x, y, z)...);
}

template <class Kernel, class... Bound>
__global__ void do_rows(const Kernel kernel, const GpuPart part, Bound... bound) {
  const auto lane = static_cast<std::ptrdiff_t>(threadIdx.x % 32);
  const auto width = part.end[1] - part.begin[1];
  const auto rows = width * (part.end[2] - part.begin[2]);
  const auto warps = static_cast<std::ptrdiff_t>(gridDim.x) * (blockDim.x / 32);
  for (auto row = (static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32; row < rows;
       row += warps) {
    const auto y = part.begin[1] + row % width, z = part.begin[2] + row / width;
    (bound.begin_row(y, z), ...);
    for (auto x = part.begin[0]; x < part.end[0]; x += 32) {
      const auto left = part.end[0] - x;
      (bound.begin_points(), ...);
      if (lane < left) kernel(bound.at(x + lane, y, z)...);
      __syncwarp();
      (bound.enter_points(left < 32 ? static_cast<int>(left) : 32), ...);
    }
    (bound.end_row(y, z), ...);
  }
}

inline constexpr std::ptrdiff_t k_threads = 256;  // threads of a block

// The block is as wide in x as the part has points, so that a boundary of one column uses a thread for each.
template <class Kernel, class... Bound>
void launch(const Kernel& kernel, const DeviceCall& call, Bound... bound) {
  const auto& range = call.range;
  GpuPart part{};
  for (std::size_t d = 0; d < k_max_dims; ++d) {
    part.begin[d] = range.begin[d];
    part.end[d] = range.end[d];
  }
  const auto blocks = [](std::ptrdiff_t count, std::ptrdiff_t each, std::ptrdiff_t most) {
    return static_cast<unsigned>(std::clamp<std::ptrdiff_t>((count + each - 1) / each, 1, most));
  };
  constexpr std::ptrdiff_t k_max = 65535;  // blocks in y and z
  constexpr std::ptrdiff_t k_max_in_x = std::numeric_limits<int>::max();
  cudaLaunchConfig_t config{};
  config.stream = static_cast<cudaStream_t>(call.stream);
  auto error = cudaSuccess;
  if constexpr ((Bound::k_reduces || ...)) {
    config.blockDim = dim3(static_cast<unsigned>(k_threads));
    config.gridDim = dim3(blocks(range.length(1) * range.length(2), k_threads / 32, k_max_in_x));
    error = cudaLaunchKernelEx(&config, do_rows<Kernel, Bound...>, kernel, part, bound...);
  } else {
    std::ptrdiff_t x = 1;
    while (x < k_threads && x < range.length(0)) x *= 2;
    const auto y = k_threads / x;
    config.blockDim = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
    config.gridDim = dim3(blocks(range.length(0), x, k_max_in_x), blocks(range.length(1), y, k_max),
                          blocks(range.length(2), 1, k_max));
    error = cudaLaunchKernelEx(&config, do_points<Kernel, Bound...>, kernel, part, bound...);
  }
  if (error != cudaSuccess)
    throw std::runtime_error("loop '" + call.loop.name +
                             "': its kernel cannot be launched: " + cudaGetErrorString(error) +
                             ": compile it for this GPU (nvcc -arch, -maxrregcount), or set another executor=");
}

TERRACE_STENCIL_END_TARGET
}  // namespace terrace::stencil::detail

#endif
