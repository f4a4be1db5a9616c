// SPDX-License-Identifier: Apache-2.0
// Runs out-of-core chains in virtual time: StreamScheduler makes the same decisions as on a real machine;
// copies, loops and the clock are modelled (overlap_model.hpp). Used by the mode `streamed`.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "stencil/plan/tile_plan.hpp"
#include "stencil/stream/scheduler.hpp"
#include "stencil/virtual/mode.hpp"
#include "stencil/virtual/overlap_model.hpp"

namespace terrace::stencil {

class StreamRun {
 public:
  // Simulates chunks of `chunk` bytes.
  StreamRun(const TwoTierMachine& tiers, std::size_t chunk);

  void add_dataset(const std::vector<bool>& is_kept) { scheduler_.add_dataset(is_kept); }
  // Prices the chain with this plan. `ahead` is as in StreamScheduler::begin().
  void run(std::span<const Loop> chain, const TilePlan& tiles, std::shared_ptr<const StreamPlan> plan,
           std::shared_ptr<const StreamPlan> ahead);
  [[nodiscard]] const ModeCounts& counts() const { return counts_; }

 private:
  using Lane = OverlapModel::Lane;

  // Advances time until a piece of work ends.
  void advance();
  void begin_moves();
  void begin_loops(std::span<const Loop> chain, const TilePlan& tiles, const StreamStep& step);

  // Returns the costs of a move besides its bytes.
  [[nodiscard]] CopyPrice price(StreamAction::What what) const;

  TwoTierMachine tiers_;
  std::size_t chunk_;  // bytes
  StreamScheduler scheduler_;
  OverlapModel overlap_;
  std::deque<StreamAction> coming_;
  std::deque<StreamAction> leaving_;
  ModeCounts counts_;
};

}  // namespace terrace::stencil
