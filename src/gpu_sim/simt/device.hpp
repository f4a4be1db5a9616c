// SPDX-License-Identifier: Apache-2.0
// Emulates a GPU that runs kernels for their results and accesses, not for time: CTA by CTA in the order of their
// numbers, warp by warp in a CTA, lane by lane between two barriers. The resulting trace goes to a sink. The
// programs of workloads/gpu run on it.
//
// Arrays are in an address space of the device's own, from 4 GiB on, each at a multiple of 64 KiB. So addresses
// are the same in every run, and pages of up to 64 KiB belong to one allocation. Single-threaded.
#pragma once

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_sim/simt/thread.hpp"
#include "gpu_sim/simt/warp_merger.hpp"
#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

// A kernel's name, grid and use of resources, as in a CUDA launch.
struct LaunchShape {
  std::string name;
  std::int32_t ctas = 1;
  std::int32_t threads = 256;      // per CTA
  std::uint32_t registers = 20;    // per thread; limits the number of CTAs on an SM
  std::uint32_t shared_bytes = 0;  // per CTA, all of its Shared together
};

// Shared memory, one array per kernel. CTAs run one after the other, and must not rely on its initial content.
template <Plain T>
class Shared {
 public:
  explicit Shared(std::size_t size) : elements_(size) {}
  [[nodiscard]] std::span<T> span() { return elements_; }
  [[nodiscard]] std::uint32_t bytes() const { return static_cast<std::uint32_t>(elements_.size() * sizeof(T)); }

 private:
  std::vector<T> elements_;
};

class Device {
 public:
  // `sink` is borrowed.
  explicit Device(TraceSink& sink) : sink_(sink), lanes_(k_max_threads) {}

  // Allocates an array of zeros that lives as long as the device.
  template <Plain T>
  Array<T> array(const std::string& name, std::size_t size) {
    const auto address = allocate(name, size * sizeof(T));
    auto memory = std::make_shared<std::vector<T>>(size);
    memories_.push_back(memory);
    return {std::span<T>(*memory), address};
  }

  // Runs a kernel: calls `body` with each Thread. Throws Error{invalid} for a shape that no GPU supports, for an
  // index outside of an array, and if threads of a CTA end while others wait at a barrier.
  template <std::invocable<Thread&> Body>
  void launch(const LaunchShape& shape, Body body) {
    begin(shape);
    for (std::int32_t cta = 0; cta < shape.ctas; ++cta) {
      if constexpr (std::same_as<std::invoke_result_t<Body, Thread&>, ThreadRun>)
        run_with_barriers(shape, cta, body);
      else
        run(shape, cta, body);
      sink_.add(cta_);
    }
  }

 private:
  std::uint64_t allocate(const std::string& name, std::uint64_t bytes);
  void begin(const LaunchShape& shape);
  void run(const LaunchShape& shape, std::int32_t cta, const std::function<void(Thread&)>& body);
  void run_with_barriers(const LaunchShape& shape, std::int32_t cta,
                         const std::function<ThreadRun(Thread&)>& body);

  TraceSink& sink_;  // receives allocations, kernels and CTAs
  std::vector<LaneLog> lanes_;
  std::vector<WarpMerger> mergers_;  // by warp of a CTA
  Cta cta_;
  std::deque<std::shared_ptr<void>> memories_;
  std::uint64_t next_address_ = std::uint64_t{4} << 30;
};

}  // namespace terrace::gpu_sim
