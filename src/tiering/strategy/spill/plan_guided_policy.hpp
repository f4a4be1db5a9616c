// What a plan says of data over a file, over what their use says (belady_policy.hpp): some chunks leave memory only
// when all others have, and some before all others. What comes in, and when, is the use's alone. A plan that loses
// is undone (plan_ab_test.hpp).
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
  explicit PlanGuidedPolicy(std::unique_ptr<BeladyPolicy> use) : use_(std::move(use)) {}

  bool on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept override;
  transfer::PredictionTotals predicted(const transfer::SpillStatistics& measured) noexcept override;
  void on_state_change(ChunkId chunk, transfer::PageState to) noexcept override;
  std::optional<Choice> next_prefetch() noexcept override { return use_->next_prefetch(); }
  std::optional<ChunkId> next_sentinel() noexcept override { return use_->next_sentinel(); }
  std::optional<Choice> next_victim() noexcept override;
  void prefer(ChunkId first, std::uint32_t count, transfer::Preference preference) noexcept override;
  [[nodiscard]] transfer::PlanVerdict verdict() const noexcept override;

 private:
  static constexpr std::uint64_t k_grace = 4;  // touches: what is used just now does not leave
  static constexpr int k_tried = 8;            // of what the use names, until one is found that does not stay

  struct Known {
    transfer::Preference preference = transfer::Preference::none;
    transfer::PageState residence = transfer::PageState::empty;
    bool used = false;          // since it came in
    std::uint64_t touched = 0;  // at which touch of all
  };
  using Oldest = std::set<std::pair<std::uint64_t, ChunkId>>;
  // Of chunks that are in memory and were used there: those that are to leave, and those of which nothing is said.
  [[nodiscard]] Oldest* order_of(const Known& known);
  std::optional<Choice> oldest(const Oldest& chunks);
  Known* known(ChunkId chunk) noexcept;
  void place(ChunkId chunk);
  void take(ChunkId chunk);

  std::unique_ptr<BeladyPolicy> use_;
  std::vector<Known> known_;  // by chunk
  Oldest leave_, others_;
  std::vector<ChunkId> named_;  // victims since the last move
  PlanAbTest trial_;
  std::uint64_t touches_ = 0;
  bool is_spoken_of_ = false;  // a plan has said something
  bool is_short_ = false;      // something has left memory: before, a plan makes no difference
};

}  // namespace terrace::strategy
