// Fake of the CUDA runtime for tests: with it the host's compiler compiles a stencil program as nvcc would
// compile it for a GPU. Kernels go to the fake driver (fake_cuda.hpp) and run on the host: blocks in order, the
// 32 threads of a warp on a thread each.
#pragma once

#include <barrier>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "fake_cuda/fake_cuda.hpp"

#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __host__
#define __device__
#define __global__
// Makes all kernels __device__ only, or, if this is defined, also __host__.
#ifdef FAKE_CUDA_BOTH
#define __nv_is_extended_device_lambda_closure_type(Type) false
#define __nv_is_extended_host_device_lambda_closure_type(Type) (sizeof(Type) > 0)
#else
#define __nv_is_extended_device_lambda_closure_type(Type) (sizeof(Type) > 0)
#define __nv_is_extended_host_device_lambda_closure_type(Type) false
#endif

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned in_x, unsigned in_y = 1, unsigned in_z = 1) : x(in_x), y(in_y), z(in_z) {}
  [[nodiscard]] unsigned count() const { return x * y * z; }
  [[nodiscard]] dim3 at(unsigned number) const { return dim3(number % x, number / x % y, number / x / y); }
};
inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

using cudaStream_t = void*;
using cudaError_t = int;
inline constexpr cudaError_t cudaSuccess = 0;
inline const char* cudaGetErrorString(cudaError_t) { return "too many resources requested for launch"; }
inline cudaError_t fake_launch_error = cudaSuccess;

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

// Exchanges values among the lanes of a warp. Values of one exchange are read while those of the next are
// written.
struct FakeWarp {
  std::barrier<> meeting{32};
  unsigned char values[2][32][8] = {};
};
inline thread_local FakeWarp* fake_warp = nullptr;
inline thread_local int fake_turn = 0;

inline void __syncwarp() { fake_warp->meeting.arrive_and_wait(); }

template <class T>
T __shfl_sync(unsigned /*mask*/, T value, int lane) {
  static_assert(sizeof(T) <= 8);
  auto& values = fake_warp->values[fake_turn ^= 1];
  std::memcpy(values[threadIdx.x % 32], &value, sizeof value);
  __syncwarp();
  std::memcpy(&value, values[lane], sizeof value);
  return value;
}

// States whether a kernel with such an argument uses warp exchanges; one thread runs all lanes of the others.
template <class T>
constexpr bool fake_meets() {
  if constexpr (requires { T::k_reduces; })
    return T::k_reduces;
  else
    return false;
}

template <class... Expected, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Given&&... given) {
  if (fake_launch_error != cudaSuccess) return fake_launch_error;
  if (config->blockDim.count() > 1024 || config->blockDim.count() % 32 != 0) return 1;
  constexpr bool k_meets = (fake_meets<Expected>() || ...);
  terrace::stencil::test::fake_cuda::launch(
      config->stream, {}, [grid = config->gridDim, block = config->blockDim, kernel, ... values = given] {
        FakeWarp warp;
        const auto do_lanes = [&](unsigned first_lane, unsigned step) {
          fake_warp = &warp;
          gridDim = grid;
          blockDim = block;
          for (unsigned b = 0; b < grid.count(); ++b)
            for (unsigned thread = first_lane; thread < block.count(); thread += step) {
              blockIdx = grid.at(b);
              threadIdx = block.at(thread);
              kernel(values...);
              if constexpr (k_meets) __syncwarp();
            }
        };
        if constexpr (k_meets) {
          std::vector<std::thread> lanes;
          for (unsigned lane = 0; lane < 32; ++lane) lanes.emplace_back(do_lanes, lane, 32U);
          for (auto& lane : lanes) lane.join();
        } else {
          do_lanes(0, 1);
        }
      });
  return cudaSuccess;
}
