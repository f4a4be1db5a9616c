// SPDX-License-Identifier: Apache-2.0
// Runs a kernel's threads on the CPU, lane by lane between barriers, and passes the merged accesses of each CTA
// (thread block) to the trace sink. The GPU programs of workloads/gpu call it through Device. See device.hpp.
#include "gpu_sim/simt/device.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace terrace::gpu_sim {
namespace {

constexpr std::uint64_t k_alignment = 64 << 10;

}  // namespace

std::uint64_t Device::allocate(const std::string& name, std::uint64_t bytes) {
  if (bytes == 0) throw Error(Code::invalid, "the array " + name + " has no elements: give it at least one");
  const auto address = next_address_;
  next_address_ += (bytes + k_alignment - 1) / k_alignment * k_alignment;
  sink_.add(Allocation{name, address, bytes});
  return address;
}

void Device::begin(const LaunchShape& shape) {
  if (shape.ctas < 1 || shape.threads < 1 || std::cmp_greater(shape.threads, k_max_threads))
    throw Error(Code::invalid, "the kernel " + shape.name + " has " + std::to_string(shape.ctas) + " CTAs of " +
                                   std::to_string(shape.threads) +
                                   " threads: launch at least 1 CTA, of 1 to 1024 threads");
  Kernel kernel;
  kernel.name = shape.name;
  kernel.ctas = static_cast<std::uint32_t>(shape.ctas);
  kernel.threads = static_cast<std::uint32_t>(shape.threads);
  kernel.registers = shape.registers;
  kernel.shared_bytes = shape.shared_bytes;
  mergers_.resize(kernel.warps());
  sink_.begin(kernel);
}

// Runs a CTA without barriers: each thread to its end, warp by warp.
void Device::run(const LaunchShape& shape, std::int32_t cta, const std::function<void(Thread&)>& body) {
  cta_.clear();
  Thread thread;
  for (std::int32_t first = 0; first < shape.threads; first += k_lanes) {
    const auto lanes = std::min<std::int32_t>(k_lanes, shape.threads - first);
    for (std::int32_t i = 0; i < lanes; ++i) {
      thread.start(lanes_[static_cast<std::size_t>(i)], cta, first + i, shape.threads);
      body(thread);
    }
    auto& merger = mergers_.front();
    merger.start();
    merger.add(std::span(lanes_).first(static_cast<std::size_t>(lanes)));
    merger.finish(cta_);
  }
}

// Runs a CTA with barriers: all threads to the next barrier, until all have ended.
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
  for (auto& merger : mergers_) merger.start();
  for (std::size_t running = count; running != 0;) {
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (runs[i].resume()) ++waiting;
    if (waiting != 0 && waiting != count)
      throw Error(Code::invalid,
                  "the kernel " + shape.name + ": " + std::to_string(count - waiting) +
                      " threads of a CTA have ended while others wait at a barrier: let all threads reach it");
    for (std::size_t warp = 0; warp < mergers_.size(); ++warp) {
      const auto first = warp * k_lanes;
      mergers_[warp].add(std::span(lanes_).subspan(first, std::min<std::size_t>(k_lanes, count - first)));
      if (waiting != 0) mergers_[warp].add_barrier();
    }
    running = waiting;
  }
  cta_.clear();
  for (auto& merger : mergers_) merger.finish(cta_);
}

}  // namespace terrace::gpu_sim
