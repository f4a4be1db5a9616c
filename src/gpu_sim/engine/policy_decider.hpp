// A policy of strategy/ on the GPU: its chunks are the pages, fast is the GPU's own memory, slow the first beyond
// it. The GPU gives what it asks for: counts of touches, faults, samples of accesses behind the L1 caches, hint
// faults, accessed bits (set by page walks; clearing them takes nothing from the translation buffers), the
// traffic of each memory. A core "stands still" for the share of all issue slots that stay empty.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "gpu_sim/engine/page_decider.hpp"
#include "machine/gpu.hpp"
#include "memory/chunk_table.hpp"
#include "strategy/policy.hpp"

namespace terrace::gpu_sim {

class PolicyDecider final : public PageDecider {
 public:
  // The GPU outlives it. `capacity`: bytes of the GPU's own memory that pages may take.
  PolicyDecider(const machine::Gpu& gpu, std::unique_ptr<strategy::Policy> policy, std::uint64_t capacity);

  [[nodiscard]] std::vector<std::uint8_t> initial(const Allocation& allocation, std::uint64_t pages) override;
  void added(std::uint32_t first, std::uint32_t count, const PageTable& pages) override;
  [[nodiscard]] std::uint32_t touches() const override { return needs_.touches; }
  void touched(std::uint32_t page, const PageTable& pages, PageMover& mover) override;
  [[nodiscard]] bool far_faults() const override { return needs_.faults; }
  void faulted(std::span<const std::uint32_t> pages, Cycle now, PageMover& mover) override;
  [[nodiscard]] std::uint32_t sample_period() const override { return needs_.sample_period; }
  void sampled(std::uint32_t page, bool write) override;
  void stayed(std::uint32_t page) override { policy_->on_move_rejected(page); }
  void moved(std::uint32_t page, std::uint8_t memory) override;
  [[nodiscard]] Cycle interval() const override;
  void decide(const Seen& seen, const PageTable& pages, PageMover& mover) override;

 private:
  [[nodiscard]] strategy::Tiers tiers() const;
  [[nodiscard]] observe::PlaceLoad load_of(std::size_t memory, std::uint64_t bytes, Seconds length) const;
  void carry_out(const strategy::PolicyChoice& choice, PageMover& mover, bool by_touch = false);

  const machine::Gpu& gpu_;
  std::unique_ptr<strategy::Policy> policy_;
  strategy::PolicyNeeds needs_;
  std::uint64_t capacity_;
  std::uint64_t used_ = 0;  // bytes of the GPU's own memory
  memory::ChunkTable chunks_;
  std::uint64_t places_ = 0;                          // of the machine that the GPU's memories are among
  observe::Observation seen_;                         // of the interval that runs
  std::unordered_map<ChunkId, std::size_t> sampled_;  // where in seen_.samples
  std::unordered_map<ChunkId, Cycle> protected_at_;
  Cycle looked_at_ = 0;  // last
};

}  // namespace terrace::gpu_sim
