// SPDX-License-Identifier: Apache-2.0
// Applies a plan's preferences to out-of-core data on top of the Belady policy (belady_policy.hpp): some chunks
// are evicted only after all others, some before all others. The agent gives it to the pager
// (transfer/spill/spill.hpp). Plans affect eviction only, never prefetch. A plan that slows the program is undone
// (plan_ab_test.hpp).
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "strategy/spill/belady_policy.hpp"
#include "strategy/spill/plan_ab_test.hpp"
#include "transfer/spill/replacement_policy.hpp"

namespace terrace::strategy {

class PlanGuidedPolicy final : public transfer::ReplacementPolicy {
 public:
  explicit PlanGuidedPolicy(std::unique_ptr<BeladyPolicy> base) : base_(std::move(base)) {}

  bool on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept override;
  transfer::PredictionTotals predicted(const transfer::SpillStatistics& measured) noexcept override;
  void on_state_change(ChunkId chunk, transfer::PageState to) noexcept override;
  std::optional<Choice> next_prefetch() noexcept override { return base_->next_prefetch(); }
  std::optional<ChunkId> next_sentinel() noexcept override { return base_->next_sentinel(); }
  std::optional<Choice> next_victim() noexcept override;
  void prefer(ChunkId first, std::uint32_t count, transfer::Preference preference) noexcept override;
  [[nodiscard]] transfer::PlanVerdict verdict() const noexcept override;

 private:
  static constexpr std::uint64_t k_grace = 4;  // touches after its own for which a chunk is not evicted
  static constexpr int k_tried = 8;            // max victims of the Belady policy that are examined

  struct ChunkState {
    transfer::Preference preference = transfer::Preference::none;
    transfer::PageState residence = transfer::PageState::empty;
    bool used = false;          // since it was fetched
    std::uint64_t touched = 0;  // global number of its last touch
  };
  using Oldest = std::set<std::pair<std::uint64_t, ChunkId>>;
  // Returns the LRU order of the chunk if it is in memory and was used there: leave_ or others_; else nullptr.
  [[nodiscard]] Oldest* order_of(const ChunkState& state);
  std::optional<Choice> oldest(const Oldest& chunks);
  ChunkState* find_state(ChunkId chunk) noexcept;
  void insert(ChunkId chunk);
  void remove(ChunkId chunk);

  std::unique_ptr<BeladyPolicy> base_;
  std::vector<ChunkState> states_;  // by chunk
  Oldest leave_, others_;
  std::vector<ChunkId> returned_victims_;  // victims returned since the last move
  PlanAbTest trial_;
  std::uint64_t touches_ = 0;
  bool has_preferences_ = false;  // a plan has set one
  bool has_evicted_ = false;      // before the first eviction a plan makes no difference
};

}  // namespace terrace::strategy
