// SPDX-License-Identifier: Apache-2.0
// Forwards to the runtime the requests of the strategy that a ValidatedStrategy wraps, and suppresses its moves
// and waits while its plan is suspended. Records the plan that comes into force, and the placement before it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strategy/requests.hpp"

namespace terrace::strategy {

class SuppressedRequests final : public Requests {
 public:
  SuppressedRequests(Requests& to, bool is_suppressed, const memory::ChunkTable& chunks)
      : to_(to), is_suppressed_(is_suppressed), chunks_(chunks) {}

  using Requests::request_moves;
  void request_moves(std::span<ActiveMove* const> moves, std::uint32_t iteration,
                     const transfer::TransferStart& start) override {
    if (is_suppressed_) return;
    has_requested_ = has_requested_ || !moves.empty();
    to_.request_moves(moves, iteration, start);
  }
  void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex phase,
                     std::uint32_t iteration) override {
    if (is_suppressed_) return;
    has_requested_ =
        has_requested_ || std::ranges::any_of(moves, [&](const auto& move) { return is_elsewhere(move); });
    to_.request_moves(moves, phase, iteration);
  }
  [[nodiscard]] bool is_idle() override { return is_suppressed_ || to_.is_idle(); }
  [[nodiscard]] std::vector<std::pair<ChunkId, PlaceId>> pending_moves() override { return to_.pending_moves(); }
  [[nodiscard]] transfer::Ticket last_ticket() const override { return to_.last_ticket(); }
  [[nodiscard]] bool is_done(transfer::Ticket ticket) override { return is_suppressed_ || to_.is_done(ticket); }
  void wait_for(PhaseIndex phase) override {
    if (!is_suppressed_) to_.wait_for(phase);
  }
  void stop_waiting_for(PhaseIndex phase) override { to_.stop_waiting_for(phase); }
  [[nodiscard]] bool is_late() override { return !is_suppressed_ && to_.is_late(); }
  void clear_needs() override { to_.clear_needs(); }
  void wait_for_all() override { to_.wait_for_all(); }
  void expedite_pending() override { to_.expedite_pending(); }
  void limit_rate(double share) override {
    if (!is_suppressed_) to_.limit_rate(share);
  }
  void note(std::string_view severity, std::string_view text) override { to_.note(severity, text); }
  void on_plan_adopted(const Plan& plan, std::string_view why) override {
    adopted_ = {plan.predicted_before, plan.predicted};
    places_before_.clear();
    for (const auto& chunk : chunks_) places_before_.push_back(chunk.place.load(std::memory_order_relaxed));
    to_.on_plan_adopted(plan, why);
  }
  void on_gain_measured(const MeasuredGain& gain) override { to_.on_gain_measured(gain); }

  [[nodiscard]] const std::optional<PredictedTimes>& adopted_plan() const { return adopted_; }
  // Returns whether any move to another place was requested.
  [[nodiscard]] bool has_requested() const { return has_requested_; }
  // Returns the place of each chunk when the plan was adopted, before its moves.
  [[nodiscard]] const std::vector<PlaceId>& places_before() const { return places_before_; }

 private:
  [[nodiscard]] bool is_elsewhere(const transfer::TransferRequest& move) const {
    return chunks_[move.chunk].place.load(std::memory_order_relaxed) != move.to;
  }

  Requests& to_;
  bool is_suppressed_;
  bool has_requested_ = false;
  const memory::ChunkTable& chunks_;
  std::optional<PredictedTimes> adopted_;
  std::vector<PlaceId> places_before_;
};

}  // namespace terrace::strategy
