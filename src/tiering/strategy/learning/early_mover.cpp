// SPDX-License-Identifier: Apache-2.0
// Evaluates profiled segments within a share of their time, and requests the early moves that pay, for
// LearningStrategy. See early_mover.hpp.
#include "strategy/learning/early_mover.hpp"

#include <algorithm>

#include "model/costs.hpp"
#include "strategy/tiering/fitting_requests.hpp"

namespace terrace::strategy {

namespace {

constexpr double k_max_looking = 0.05;  // share of the profiled time for evaluations

}  // namespace

// Skips segments whose evaluation would exceed its share of the time; the next evaluated one represents them.
bool EarlyMover::on_segment(const SegmentProfiled& event, Requests& requests) {
  const auto& segment = event.segment;
  if (segment.time.value <= 0) return false;
  auto& clock = *context_.clock;
  if (!early_) {
    early_.emplace(*context_.machine, context_.initiator, [this](ChunkId chunk, PlaceId from, PlaceId to) {
      return payback_.cost_there_and_back(chunk, from, to);
    });
    looked_ = clock.now() - segment.time;
  }
  const auto looking = static_cast<double>(segment.cells.size()) * model::k_rent_cost;
  const auto since = clock.now() - looked_;
  if (looking > k_max_looking * since) return false;
  clock.charge(looking);
  looked_ = clock.now();
  const auto tiers = tiers_of(context_);
  early_->on_segment(segment, tiers, std::max(since / segment.time, 1.0));
  if (!requests.is_idle()) return false;
  const auto wanted = early_->select_moves(tiers, payback_.early_budget());
  request_fitting_moves(wanted, context_, event.phase, event.iteration, requests);
  return !wanted.empty();
}

}  // namespace terrace::strategy
