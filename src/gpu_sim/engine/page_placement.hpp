// SPDX-License-Identifier: Apache-2.0
// Declares the interface of page placement on a simulated GPU, which Simulator calls, and static placements.
// Policies that move pages during the run are in tiering_policy_adapter.hpp. Pages are numbers of the page table;
// memories are numbers of the GPU's list, 0 is its own memory, all others are far memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/page_mover.hpp"
#include "gpu_sim/engine/page_table.hpp"

namespace terrace::gpu_sim {

class PagePlacement {
 public:
  virtual ~PagePlacement() = default;
  // Returns the memories of an allocation's new pages, page by page, repeated as needed. Default: far memory.
  [[nodiscard]] virtual std::vector<std::uint8_t> initial_memories(const Allocation&, std::uint64_t /*pages*/) {
    return {1};
  }
  // Reports the allocation's pages, which exist now.
  virtual void on_pages_added(std::uint32_t /*first*/, std::uint32_t /*count*/, const PageTable&) {}
  // Returns the number of accesses to a far page after which on_touched() is called; 0: never.
  [[nodiscard]] virtual std::uint32_t touch_threshold() const { return 0; }
  virtual void on_touched(std::uint32_t /*page*/, const PageTable&, PageMover&) {}
  // Returns whether accesses to far pages fault.
  [[nodiscard]] virtual bool faults_on_far_access() const { return false; }
  // Reports pages that faulted. Those that are not requested to move are mapped where they are.
  virtual void on_faults(std::span<const std::uint32_t> /*pages*/, Cycle /*now*/, PageMover&) {}
  // Returns the sampling period of on_sample(), in accesses; 0: no samples. Samples are also written to the first
  // far memory, as traffic.
  [[nodiscard]] virtual std::uint32_t sample_period() const { return 0; }
  virtual void on_sample(std::uint32_t /*page*/, bool /*write*/) {}
  // Reports that a requested move was rejected for lack of capacity.
  virtual void on_move_rejected(std::uint32_t /*page*/) {}
  // Reports that the page is in that memory from now on.
  virtual void on_moved(std::uint32_t /*page*/, std::uint8_t /*memory*/) {}
  // Returns the cycles between two calls of decide(); 0: it is not called.
  [[nodiscard]] virtual Cycle interval() const { return 0; }
  // Events since the last call of decide().
  struct IntervalEvents {
    std::vector<std::uint64_t> bytes;   // of each memory's channels, caused by the GPU's accesses
    std::uint64_t instructions = 0;     // warp instructions
    std::vector<std::uint32_t> walked;  // pages whose accessed bit was set
    Cycle now = 0;
  };
  virtual void decide(const IntervalEvents&, const PageTable&, PageMover&) {}
};

// Places a fraction of the pages in the GPU's own memory, evenly spread: 0 is access over the link alone, 1 a copy
// before the run, the ratio of the bandwidths a weighted interleave.
class FractionPagePlacement final : public PagePlacement {
 public:
  explicit FractionPagePlacement(double share) : share_(share) {}
  [[nodiscard]] std::vector<std::uint8_t> initial_memories(const Allocation& allocation,
                                                           std::uint64_t pages) override;

 private:
  double share_;
  double sum_ = 0;  // fractions of the pages so far, minus those placed in memory 0
};

// Places pages by a list, in the order of their allocation.
class ListedPagePlacement final : public PagePlacement {
 public:
  explicit ListedPagePlacement(std::vector<std::uint8_t> memory_of_page)
      : memory_of_page_(std::move(memory_of_page)) {}
  [[nodiscard]] std::vector<std::uint8_t> initial_memories(const Allocation& allocation,
                                                           std::uint64_t pages) override;
  void on_pages_added(std::uint32_t first, std::uint32_t count, const PageTable& table) override;

 private:
  std::vector<std::uint8_t> memory_of_page_;
  std::size_t next_ = 0;
};

// Returns the oracle's placement: the fewest pages, in descending order of traffic, that bring the
// traffic share of the GPU's own memory to `share` (Agarwal et al., HPCA 2015, section II-A). `traffic`: by page,
// from an earlier run.
[[nodiscard]] std::vector<std::uint8_t> oracle_placement(std::span<const std::uint64_t> traffic, double share,
                                                         std::uint64_t max_pages);

}  // namespace terrace::gpu_sim
