// SPDX-License-Identifier: Apache-2.0
// Runs kernels and logs their accesses. See device.hpp.
#include "gpu_sim/simt/device.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_alignment = 64 << 10;

}  // namespace

std::uint64_t Device::allocate(const std::string& name, std::uint64_t bytes) {
  if (bytes == 0) throw Error(Code::invalid, "the array " + name + " has no elements");
  const auto address = next_address_;
  next_address_ += (bytes + k_alignment - 1) / k_alignment * k_alignment;
  sink_.add(Allocation{name, address, bytes});
  return address;
}

void Device::begin(const LaunchShape& shape) {
  if (shape.ctas < 1 || shape.threads < 1 || std::cmp_greater(shape.threads, k_max_threads))
    throw Error(Code::invalid, "the kernel " + shape.name + " has " + std::to_string(shape.ctas) + " CTAs of " +
                                   std::to_string(shape.threads) + " threads; from 1 CTA on, 1 to 1024 threads");
  Kernel kernel;
  kernel.name = shape.name;
  kernel.ctas = static_cast<std::uint32_t>(shape.ctas);
  kernel.threads = static_cast<std::uint32_t>(shape.threads);
  kernel.registers = shape.registers;
  kernel.shared_bytes = shape.shared_bytes;
  merges_.resize(kernel.warps());
  sink_.begin(kernel);
}

void Device::run(const LaunchShape& shape, std::int32_t cta, const std::function<void(Thread&)>& body) {
  cta_.clear();
  Thread thread;
  for (std::int32_t first = 0; first < shape.threads; first += k_lanes) {
    const auto lanes = std::min<std::int32_t>(k_lanes, shape.threads - first);
    for (std::int32_t i = 0; i < lanes; ++i) {
      thread.start(lanes_[static_cast<std::size_t>(i)], cta, first + i, shape.threads);
      body(thread);
    }
    auto& merge = merges_.front();
    merge.start();
    merge.add(std::span(lanes_).first(static_cast<std::size_t>(lanes)));
    merge.finish(cta_);
  }
}

void Device::run_with_barriers(const LaunchShape& shape, std::int32_t cta,
                               const std::function<ThreadRun(Thread&)>& body) {
  const auto count = static_cast<std::size_t>(shape.threads);
  std::vector<Thread> threads(count);
  std::vector<ThreadRun> runs;
  runs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    threads[i].start(lanes_[i], cta, static_cast<std::int32_t>(i), shape.threads);
    runs.push_back(body(threads[i]));
  }
  for (auto& merge : merges_) merge.start();
  for (std::size_t running = count; running != 0;) {
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (runs[i].resume()) ++waiting;
    if (waiting != 0 && waiting != count)
      throw Error(Code::invalid, "the kernel " + shape.name + ": " + std::to_string(count - waiting) +
                                     " threads of a CTA have ended while others wait at a barrier");
    for (std::size_t warp = 0; warp < merges_.size(); ++warp) {
      const auto first = warp * k_lanes;
      merges_[warp].add(std::span(lanes_).subspan(first, std::min<std::size_t>(k_lanes, count - first)));
      if (waiting != 0) merges_[warp].add_barrier();
    }
    running = waiting;
  }
  cta_.clear();
  for (auto& merge : merges_) merge.finish(cta_);
}

}  // namespace terrace::gpu_sim
