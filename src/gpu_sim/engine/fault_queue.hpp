// SPDX-License-Identifier: Apache-2.0
// Queues page faults: accesses of the GPU to pages that are not mapped for it. As in NVIDIA's driver (T. Allen and
// R. Ge, "In-depth analyses of unified virtual memory system for GPU accelerated computing", SC 2021), faults are
// handled in batches, one after the other, each for a time that the machine file states. The accesses wait
// meanwhile.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

struct FaultCounts {
  std::uint64_t faults = 0;  // pages
  std::uint64_t batches = 0;
};

class FaultQueue {
 public:
  FaultQueue(const machine::Gpu& gpu, EventWheel& events) : gpu_(gpu), events_(events) {}

  void add(std::uint32_t page);
  // Returns the pages of the batch that has been handled, and begins the next batch. Call on an event of kind
  // faults.
  std::vector<std::uint32_t> take_batch();
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }

 private:
  void begin_batch();

  const machine::Gpu& gpu_;
  EventWheel& events_;
  std::deque<std::uint32_t> queue_;
  std::vector<std::uint32_t> batch_;  // being handled; empty: none
  FaultCounts counts_;
};

}  // namespace terrace::gpu_sim
