// Requests as a strategy whose plan may be suspended makes them: while it is, nothing moves and nobody waits.
// Hears of plans that come into force.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "strategy/requests.hpp"

namespace terrace::strategy {

class MutedRequests final : public Requests {
 public:
  MutedRequests(Requests& to, bool is_muted, const memory::ChunkTable& chunks)
      : to_(to), is_muted_(is_muted), chunks_(chunks) {}

  using Requests::ask;
  void ask(std::span<ActiveMove* const> moves, std::uint32_t iteration, const transfer::TransferStart& start) override {
    if (is_muted_) return;
    has_asked_ = has_asked_ || !moves.empty();
    to_.ask(moves, iteration, start);
  }
  void ask(std::span<const transfer::TransferRequest> moves, PhaseIndex phase, std::uint32_t iteration) override {
    if (is_muted_) return;
    has_asked_ = has_asked_ || std::ranges::any_of(moves, [&](const auto& move) { return is_elsewhere(move); });
    to_.ask(moves, phase, iteration);
  }
  [[nodiscard]] bool all_done() override { return is_muted_ || to_.all_done(); }
  [[nodiscard]] std::vector<std::pair<ChunkId, PlaceId>> under_way() override { return to_.under_way(); }
  [[nodiscard]] transfer::Ticket last_asked() const override { return to_.last_asked(); }
  [[nodiscard]] bool done(transfer::Ticket ticket) override { return is_muted_ || to_.done(ticket); }
  void wait_for(PhaseIndex phase) override {
    if (!is_muted_) to_.wait_for(phase);
  }
  void stop_waiting_for(PhaseIndex phase) override { to_.stop_waiting_for(phase); }
  [[nodiscard]] bool late() override { return !is_muted_ && to_.late(); }
  void forget_needs() override { to_.forget_needs(); }
  void wait_for_all() override { to_.wait_for_all(); }
  void expedite_pending() override { to_.expedite_pending(); }
  void limit_rate(double share) override {
    if (!is_muted_) to_.limit_rate(share);
  }
  void note(std::string_view severity, std::string_view text) override { to_.note(severity, text); }
  void adopted(const Plan& plan, std::string_view why) override {
    adopted_ = {plan.predicted_before, plan.predicted};
    places_before_.clear();
    for (const auto& chunk : chunks_) places_before_.push_back(chunk.place.load(std::memory_order_relaxed));
    to_.adopted(plan, why);
  }
  void proved(const Proof& proof) override { to_.proved(proof); }

  [[nodiscard]] const std::optional<Predicted>& adopted() const { return adopted_; }
  // For any move to another place.
  [[nodiscard]] bool has_asked() const { return has_asked_; }
  // By chunk, when it was adopted: before anything moved for it.
  [[nodiscard]] const std::vector<PlaceId>& places_before() const { return places_before_; }

 private:
  [[nodiscard]] bool is_elsewhere(const transfer::TransferRequest& move) const {
    return chunks_[move.chunk].place.load(std::memory_order_relaxed) != move.to;
  }

  Requests& to_;
  bool is_muted_;
  bool has_asked_ = false;
  const memory::ChunkTable& chunks_;
  std::optional<Predicted> adopted_;
  std::vector<PlaceId> places_before_;
};

}  // namespace terrace::strategy
