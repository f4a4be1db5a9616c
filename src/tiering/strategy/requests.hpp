// SPDX-License-Identifier: Apache-2.0
// Defines the interface through which a strategy requests actions of the runtime: moves, waits for moves, a rate
// limit, journal entries. The runtime (runtime/migrations.hpp) performs each call at once, in the order of the
// calls.
//
// A phase *needs* a move if the plan has the phase wait for it. Not thread-safe.
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

// The predicted times of an iteration; 0 if a plan does not state them.
struct PredictedTimes {
  Seconds before;   // with the placement from before the plan
  Seconds planned;  // under the plan
};

// The measured gain of a plan: medians of whole iterations, and their number.
struct MeasuredGain {
  Seconds without, with;
  std::uint32_t iterations_without = 0, iterations_with = 0;
  PredictedTimes predicted;
  bool undone = false;
  bool is_noise = false;  // the two times differ by no more than iterations do by chance
};

class Requests {
 public:
  virtual ~Requests() = default;

  // Requests the moves in this order. Skips chunks whose object was freed. wait_for() of the phase that needs a
  // move waits for it (ChunkMove::awaited).
  virtual void request_moves(std::span<ActiveMove* const> moves, std::uint32_t iteration,
                             const transfer::TransferStart& start) = 0;
  void request_moves(std::span<ActiveMove* const> moves, std::uint32_t iteration) {
    request_moves(moves, iteration, {});
  }
  // Requests moves that belong to no plan, in phase `phase`.
  virtual void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex phase,
                             std::uint32_t iteration) = 0;

  // Returns whether all requested moves are done.
  [[nodiscard]] virtual bool is_idle() = 0;
  // Returns the requested moves that are not done, in the order of the requests: chunk and target.
  [[nodiscard]] virtual std::vector<std::pair<ChunkId, PlaceId>> pending_moves() = 0;
  // Returns the ticket of the last requested move. Requires: !is_idle().
  [[nodiscard]] virtual transfer::Ticket last_ticket() const = 0;
  [[nodiscard]] virtual bool is_done(transfer::Ticket ticket) = 0;

  // Waits until the moves that this phase needs are done.
  virtual void wait_for(PhaseIndex phase) = 0;
  // Cancels waiting for this phase's moves; is_late() reports the unfinished ones.
  virtual void stop_waiting_for(PhaseIndex phase) = 0;
  // Returns whether a move that a phase needed is still not done.
  [[nodiscard]] virtual bool is_late() = 0;
  // Cancels the needs of all phases for the moves requested so far, because another plan is in force.
  virtual void clear_needs() = 0;
  virtual void wait_for_all() = 0;
  // Makes all requested moves due immediately.
  virtual void expedite_pending() = 0;
  // Limits moves that no phase waits for to this share of full speed.
  virtual void limit_rate(double share) = 0;

  // Writes a line to the journal. `severity`: "note" or "warning".
  virtual void note(std::string_view severity, std::string_view text) = 0;
  // Records that the plan is in force from now on, and why.
  virtual void on_plan_adopted(const Plan& plan, std::string_view why) = 0;
  // Records the measured gain of a plan.
  virtual void on_gain_measured(const MeasuredGain& gain) = 0;
};

}  // namespace terrace::strategy
