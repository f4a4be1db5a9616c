// What a strategy asks of whoever carries it out: moves, waits for moves, a rate limit, words for the journal. All
// of it is done at once and in this order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan.hpp"
#include "strategy/active_move.hpp"
#include "transfer/mover.hpp"

namespace terrace::strategy {

// What an iteration takes, as a plan predicts it; 0 where it does not say.
struct PredictedTimes {
  Seconds before;  // with everything where it was before the plan
  Seconds planned;
};

// What a plan was worth, measured: medians of whole iterations, and how many of them.
struct MeasuredGain {
  Seconds without, with;
  std::uint32_t iterations_without = 0, iterations_with = 0;
  PredictedTimes predicted;
  bool undone = false;
};

class Requests {
 public:
  virtual ~Requests() = default;

  // In this order. Chunks whose object is gone are left out. A move with a phase that needs it (`awaited`) is
  // waited for by wait_for() of that phase.
  virtual void request_moves(std::span<ActiveMove* const> moves, std::uint32_t iteration,
                             const transfer::TransferStart& start) = 0;
  void request_moves(std::span<ActiveMove* const> moves, std::uint32_t iteration) {
    request_moves(moves, iteration, {});
  }
  // Moves of no plan, asked for in `phase`.
  virtual void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex phase,
                             std::uint32_t iteration) = 0;

  // Everything that was asked for is done.
  [[nodiscard]] virtual bool is_idle() = 0;
  // What was asked for and is not done, in the order of asking: chunks, and where to.
  [[nodiscard]] virtual std::vector<std::pair<ChunkId, PlaceId>> pending_moves() = 0;
  // The ticket of what was asked for last; only while not everything is done.
  [[nodiscard]] virtual transfer::Ticket last_ticket() const = 0;
  [[nodiscard]] virtual bool is_done(transfer::Ticket ticket) = 0;

  // Returns when the moves that this phase needs are done.
  virtual void wait_for(PhaseIndex phase) = 0;
  // Nobody waits for what this phase needs any more: it is late, where it is not done.
  virtual void stop_waiting_for(PhaseIndex phase) = 0;
  // Something that a phase needed is not done.
  [[nodiscard]] virtual bool is_late() = 0;
  // Another plan: no phase needs what was asked for so far.
  virtual void clear_needs() = 0;
  virtual void wait_for_all() = 0;
  // All that was asked for is due, whatever was said when it was.
  virtual void expedite_pending() = 0;
  // Of moves that nobody waits for: this share of full speed.
  virtual void limit_rate(double share) = 0;

  // "note" or "warning".
  virtual void note(std::string_view severity, std::string_view text) = 0;
  // A plan is in force from now on, and why.
  virtual void on_plan_adopted(const Plan& plan, std::string_view why) = 0;
  // For the journal.
  virtual void on_gain_measured(const MeasuredGain& gain) = 0;
};

}  // namespace terrace::strategy
