// SPDX-License-Identifier: Apache-2.0
// Executes the requests of a strategy: submits moves to the mover, waits for them, and writes their outcome to the
// journal. Configuration owns one. Not thread-safe: the caller holds the program's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/journal_writer.hpp"
#include "runtime/runtime_parts.hpp"
#include "strategy/requests.hpp"

namespace terrace::runtime {

class Migrations final : public strategy::Requests {
 public:
  // `parts` and `journal` are borrowed and outlive this object.
  Migrations(const ConfigurationParts& parts, JournalWriter& journal) : parts_(parts), journal_(journal) {}

  using strategy::Requests::request_moves;
  void request_moves(std::span<strategy::ActiveMove* const> moves, std::uint32_t iteration,
                     const transfer::TransferStart& start) override;
  void request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex phase,
                     std::uint32_t iteration) override;
  [[nodiscard]] bool is_idle() override;
  [[nodiscard]] std::vector<std::pair<ChunkId, PlaceId>> pending_moves() override;
  [[nodiscard]] transfer::Ticket last_ticket() const override { return first_pending_ + pending_.size() - 1; }
  [[nodiscard]] bool is_done(transfer::Ticket ticket) override { return parts_.mover->done(ticket); }
  void wait_for(PhaseIndex phase) override;
  void stop_waiting_for(PhaseIndex phase) override;
  [[nodiscard]] bool is_late() override;
  void clear_needs() override;
  void wait_for_all() override;
  void expedite_pending() override { parts_.mover->expedite_pending(); }
  void limit_rate(double share) override;
  void note(std::string_view severity, std::string_view text) override;
  void on_plan_adopted(const Plan& plan, std::string_view why) override;
  void on_gain_measured(const strategy::MeasuredGain& proof) override;

  // Cancels the moves of these chunks, whose object is about to be freed.
  void forget(ChunkId first, std::uint32_t count);
  // Warns that the system refused `what`. Only the first refusal is noted, because others follow for the same
  // reason.
  void note_refusal(const std::string& what);
  // Writes the finished moves to the journal, in one record. A program that is killed loses those since the last
  // call.
  void write();
  // Returns how long the program has waited for moves since the last call.
  Seconds take_waited() { return std::exchange(waited_, Seconds{}); }

 private:
  struct PendingMove {
    std::uint32_t move = 0;  // identifier in the journal
    ChunkId chunk = 0;
    PlaceId to = 0;
    std::uint32_t iteration = 0;
    Seconds waited;
    bool complete = false;
  };
  transfer::Ticket submit();
  void collect_completions();
  void assign_name(strategy::ActiveMove& move);
  [[nodiscard]] std::uint32_t name_of(const transfer::TransferRequest& move, PhaseIndex phase);
  [[nodiscard]] bool is_live(transfer::Ticket ticket) const;
  void record_transfer(const PendingMove& pending, const transfer::TransferResult& result);

  const ConfigurationParts& parts_;
  JournalWriter& journal_;
  std::deque<PendingMove> pending_;  // by ticket, from first_pending_ on
  transfer::Ticket first_pending_ = 0;
  std::vector<transfer::TransferRequest> requests_;    // of the current submission
  std::vector<std::vector<transfer::Ticket>> needed_;  // by phase: tickets that it waits for
  std::vector<transfer::Ticket> late_;                 // unfinished moves that a phase needed
  double rate_ = 1;                                    // share of the mover's full rate
  Seconds waited_;
  std::uint32_t num_names_ = 0;
  profile::MovesRecord named_;                                          // names not yet in the journal
  profile::TransfersRecord finished_;                                   // transfers not yet in the journal
  std::map<std::pair<ChunkId, PlaceId>, std::uint32_t> names_by_move_;  // of moves outside of a plan
  std::map<ObjectId, ChunkId> first_chunks_;                            // of objects with such moves
  bool refusal_noted_ = false;
};

}  // namespace terrace::runtime
