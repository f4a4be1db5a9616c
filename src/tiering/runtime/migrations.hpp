// Carries out what a strategy asks for: hands moves to the mover, waits for them, and writes down what became of
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/journalist.hpp"
#include "runtime/runtime_parts.hpp"
#include "strategy/requests.hpp"

namespace terrace::runtime {

class Migrations final : public strategy::Requests {
 public:
  // Both outlive it.
  Migrations(const ConfigurationParts& parts, Journalist& journal) : parts_(parts), journal_(journal) {}

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

  // The object at these chunks is about to be freed.
  void forget(ChunkId first, std::uint32_t count);
  // The system does not what it was asked to. Said once: where it says no it will say so again.
  void note_refusal(const std::string& what);
  // The moves that have ended, in one record; a program that is killed takes those since the last one with it.
  void write();
  // How long the program has waited since the last call.
  Seconds take_waited() { return std::exchange(waited_, Seconds{}); }

 private:
  struct Pending {
    std::uint32_t move = 0;  // its name
    ChunkId chunk = 0;
    PlaceId to = 0;
    std::uint32_t iteration = 0;
    Seconds waited;
    bool complete = false;
  };
  transfer::Ticket submit();
  void collect();
  void name(strategy::ActiveMove& move);
  [[nodiscard]] std::uint32_t name_of(const transfer::TransferRequest& move, PhaseIndex phase);
  [[nodiscard]] bool live(transfer::Ticket ticket) const;
  void log(const Pending& pending, const transfer::TransferResult& result);

  const ConfigurationParts& parts_;
  Journalist& journal_;
  std::deque<Pending> pending_;  // by ticket, from first_pending_ on
  transfer::Ticket first_pending_ = 0;
  std::vector<transfer::TransferRequest> requests_;    // of one asking
  std::vector<std::vector<transfer::Ticket>> needed_;  // by phase: tickets it waits for
  std::vector<transfer::Ticket> late_;                 // moves that a phase needed and that were not done
  double rate_ = 1;                                    // of the mover
  Seconds waited_;
  std::uint32_t names_ = 0;                                             // moves that have one
  profile::MovesRecord named_;                                          // those that the journal does not have yet
  profile::TransfersRecord finished_;                                   // so for these
  std::map<std::pair<ChunkId, PlaceId>, std::uint32_t> names_by_move_;  // of moves of no plan
  std::map<ObjectId, ChunkId> first_chunks_;                            // of objects with such moves
  bool refusal_noted_ = false;
};

}  // namespace terrace::runtime
