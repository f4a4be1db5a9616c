// Test fixture: requests of a strategy of which none is ever pending. Tests override what they look at.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "strategy/requests.hpp"

namespace terrace::strategy {

class IdleRequests : public Requests {
 public:
  using Requests::request_moves;
  void request_moves(std::span<ActiveMove* const>, std::uint32_t, const transfer::TransferStart&) override {
    FAIL();
  }
  bool is_idle() override { return true; }
  std::vector<std::pair<ChunkId, PlaceId>> pending_moves() override { return {}; }
  transfer::Ticket last_ticket() const override { return 0; }
  bool is_done(transfer::Ticket) override { return true; }
  void wait_for(PhaseIndex) override {}
  void stop_waiting_for(PhaseIndex) override {}
  bool is_late() override { return false; }
  void clear_needs() override {}
  void wait_for_all() override {}
  void expedite_pending() override {}
  void limit_rate(double) override {}
  void note(std::string_view, std::string_view) override {}
  void on_plan_adopted(const Plan&, std::string_view) override {}
  void on_gain_measured(const MeasuredGain&) override {}
};

}  // namespace terrace::strategy
