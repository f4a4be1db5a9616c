// SPDX-License-Identifier: Apache-2.0
// Adapts a tiering policy of strategy/ to the simulated GPU, whose simulator calls it: its chunks are the pages,
// fast is the GPU's own memory, slow the first far memory. The GPU provides what the policy needs: touch counts,
// faults, samples of accesses behind the L1 caches, hint faults, accessed bits (set by page walks; clearing them
// costs no TLB entries), and the traffic of each memory. The stalled time of a core is the share of all issue
// slots that stay empty.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu_sim/engine/page_placement.hpp"
#include "machine/gpu.hpp"
#include "memory/chunk_table.hpp"
#include "strategy/policy.hpp"

namespace terrace::gpu_sim {

class TieringPolicyAdapter final : public PagePlacement {
 public:
  // `gpu` is borrowed. `capacity`: bytes of the GPU's own memory that pages may take.
  TieringPolicyAdapter(const machine::Gpu& gpu, std::unique_ptr<strategy::Policy> policy, std::uint64_t capacity);

  [[nodiscard]] std::vector<std::uint8_t> initial_memories(const Allocation& allocation,
                                                           std::uint64_t pages) override;
  void on_pages_added(std::uint32_t first, std::uint32_t count, const PageTable& pages) override;
  [[nodiscard]] std::uint32_t touch_threshold() const override { return needs_.touches; }
  void on_touched(std::uint32_t page, const PageTable& pages, PageMover& mover) override;
  [[nodiscard]] bool faults_on_far_access() const override { return needs_.faults; }
  void on_faults(std::span<const std::uint32_t> pages, Cycle now, PageMover& mover) override;
  [[nodiscard]] std::uint32_t sample_period() const override { return needs_.sample_period; }
  void on_sample(std::uint32_t page, bool write) override;
  void on_move_rejected(std::uint32_t page) override { policy_->on_move_rejected(page); }
  void on_moved(std::uint32_t page, std::uint8_t memory) override;
  [[nodiscard]] Cycle interval() const override;
  void decide(const IntervalEvents& seen, const PageTable& pages, PageMover& mover) override;

 private:
  [[nodiscard]] strategy::Tiers tiers() const;
  [[nodiscard]] observe::PlaceLoad load_of(std::size_t memory, std::uint64_t bytes, Seconds length) const;
  void carry_out(const strategy::PolicyChoice& choice, PageMover& mover, bool by_touch = false);

  const machine::Gpu& gpu_;
  std::unique_ptr<strategy::Policy> policy_;
  strategy::PolicyNeeds needs_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;  // bytes of the GPU's own memory in use
  memory::ChunkTable chunks_;
  std::uint64_t places_ = 0;                          // of the machine, which has the GPU's memories
  observe::Observation seen_;                         // of the current interval
  std::unordered_map<ChunkId, std::size_t> sampled_;  // positions in seen_.samples
  std::unordered_map<ChunkId, Cycle> protected_at_;
  Cycle looked_at_ = 0;  // time of the last decide()
};

}  // namespace terrace::gpu_sim
