// A policy of strategy/ on the GPU: its chunks are the pages, fast is the GPU's own memory, slow the first beyond
// it.
#pragma once

#include <memory>
#include <vector>

#include "machine/gpu.hpp"
#include "memory/chunk_table.hpp"
#include "sim/gpu/engine/page_decider.hpp"
#include "strategy/policy.hpp"

namespace terrace::sim::gpu {

class PolicyDecider final : public PageDecider {
 public:
  // The GPU outlives it. `capacity`: bytes of the GPU's own memory that pages may take. Throws Error{unsupported}
  // for a policy that needs samples or hint faults, which the GPU does not give yet.
  PolicyDecider(const machine::Gpu& gpu, std::unique_ptr<strategy::Policy> policy, std::uint64_t capacity);

  void added(std::uint32_t first, std::uint32_t count, const PageTable& pages) override;
  [[nodiscard]] std::uint32_t touches() const override { return needs_.touches; }
  void touched(std::uint32_t page, const PageTable& pages, PageMover& mover) override;
  void moved(std::uint32_t page, std::uint8_t memory) override;
  [[nodiscard]] Cycle interval() const override;
  void decide(std::span<const std::uint64_t> bytes, const PageTable& pages, PageMover& mover) override;

 private:
  [[nodiscard]] strategy::Tiers tiers(const PageTable& pages) const;
  void carry_out(const strategy::PolicyChoice& choice, PageMover& mover);

  const machine::Gpu& gpu_;
  std::unique_ptr<strategy::Policy> policy_;
  strategy::PolicyNeeds needs_;
  std::uint64_t capacity_;
  memory::ChunkTable chunks_;
  std::uint64_t places_ = 0;  // of the machine that the GPU's memories are among
};

}  // namespace terrace::sim::gpu
