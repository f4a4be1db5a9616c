// Faults: pages that the GPU accessed though they were not mapped for it. As NVIDIA's driver does (T. Allen and
// R. Ge, "In-depth analyses of unified virtual memory system for GPU accelerated computing", SC 2021), they are
// handled in batches, one after the other, each for a time that the machine states. Accesses wait meanwhile.
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
  // An event of kind faults: the pages of the batch. The next one begins.
  std::vector<std::uint32_t> take_batch();
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }

 private:
  void begin();

  const machine::Gpu& gpu_;
  EventWheel& events_;
  std::deque<std::uint32_t> queue_;
  std::vector<std::uint32_t> batch_;  // that is being handled; empty: none
  FaultCounts counts_;
};

}  // namespace terrace::gpu_sim
