// SPDX-License-Identifier: Apache-2.0
// Submits a strategy's moves to the mover, matches their completions by ticket, and logs them. Each Configuration
// owns one. See migrations.hpp.
#include "runtime/migrations.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "model/costs.hpp"

namespace terrace::runtime {

void Migrations::request_moves(std::span<strategy::ActiveMove* const> moves, std::uint32_t iteration,
                               const transfer::TransferStart& start) {
  requests_.clear();
  std::vector<strategy::ActiveMove*> submitted;
  submitted.reserve(moves.size());
  for (auto* move : moves) {
    if (!(*parts_.chunks)[move->chunk].live) continue;
    requests_.push_back({move->chunk, move->planned.to, start});
    submitted.push_back(move);
  }
  if (requests_.empty()) return;
  auto ticket = submit();
  for (auto* move : submitted) {
    if (move->name == strategy::ActiveMove::k_not_named) assign_name(*move);
    pending_.push_back({move->name, move->chunk, move->planned.to, iteration, {}});
    if (move->planned.awaited) {
      if (needed_.size() <= move->planned.need) needed_.resize(move->planned.need + 1);
      needed_[move->planned.need].push_back(ticket);
    }
    ++ticket;
  }
}

void Migrations::request_moves(std::span<const transfer::TransferRequest> moves, PhaseIndex phase,
                               std::uint32_t iteration) {
  requests_.assign(moves.begin(), moves.end());
  if (requests_.empty()) return;
  static_cast<void>(submit());
  for (const auto& move : requests_)
    pending_.push_back({name_of(move, phase), move.chunk, move.to, iteration, {}});
}

// Charges the program for the time that the requests take to submit.
transfer::Ticket Migrations::submit() {
  parts_.clock->charge(model::k_ask_cost + static_cast<double>(requests_.size()) * model::k_move_cost);
  const auto ticket = parts_.mover->submit(requests_);
  if (pending_.empty()) first_pending_ = ticket;
  return ticket;
}

bool Migrations::is_idle() {
  collect_completions();
  return pending_.empty();
}

std::vector<std::pair<ChunkId, PlaceId>> Migrations::pending_moves() {
  collect_completions();
  std::vector<std::pair<ChunkId, PlaceId>> moves;
  for (const auto& pending : pending_)
    if (!pending.complete) moves.emplace_back(pending.chunk, pending.to);
  return moves;
}

bool Migrations::is_live(transfer::Ticket ticket) const {
  return ticket >= first_pending_ && (*parts_.chunks)[pending_[ticket - first_pending_].chunk].live;
}

// Tickets ascend, and a mover completes them in order, so the last live one decides whether there is a wait.
void Migrations::wait_for(PhaseIndex phase) {
  if (phase >= needed_.size()) return;
  const auto& tickets = needed_[phase];
  const auto last = std::find_if(tickets.rbegin(), tickets.rend(), [&](auto ticket) { return is_live(ticket); });
  if (last == tickets.rend() || parts_.mover->done(*last)) return;
  for (const auto ticket : tickets) {
    if (ticket < first_pending_ || parts_.mover->done(ticket)) continue;
    const auto before = parts_.clock->now();
    parts_.mover->wait(ticket);
    const auto waited = parts_.clock->now() - before;
    pending_[ticket - first_pending_].waited = waited;
    waited_ += waited;
  }
}

void Migrations::stop_waiting_for(PhaseIndex phase) {
  if (phase >= needed_.size()) return;
  late_.insert(late_.end(), needed_[phase].begin(), needed_[phase].end());
  needed_[phase].clear();
}

bool Migrations::is_late() {
  collect_completions();
  std::erase_if(late_, [&](transfer::Ticket ticket) { return parts_.mover->done(ticket); });
  return !late_.empty();
}

void Migrations::clear_needs() {
  needed_.clear();
  late_.clear();
}

void Migrations::wait_for_all() {
  if (!pending_.empty()) parts_.mover->wait(last_ticket());
  write();
}

void Migrations::limit_rate(double share) {
  if (std::exchange(rate_, share) != share) parts_.mover->limit_rate(share);
}

void Migrations::note(std::string_view severity, std::string_view text) {
  journal_.write(profile::NoteRecord{std::string(severity), std::string(text), parts_.clock->now()});
}

void Migrations::on_plan_adopted(const Plan& plan, std::string_view why) {
  journal_.write(profile::PlanRecord{plan, parts_.clock->now(), std::string(why)});
}

void Migrations::on_gain_measured(const strategy::MeasuredGain& proof) {
  journal_.write(profile::ProofRecord{parts_.clock->now(), proof.without, proof.with, proof.iterations_without,
                                      proof.iterations_with, proof.predicted.before, proof.predicted.planned,
                                      proof.undone, proof.is_noise});
}

void Migrations::forget(ChunkId first, std::uint32_t count) {
  parts_.mover->forget(first, count);
  collect_completions();
}

void Migrations::note_refusal(const std::string& what) {
  if (!std::exchange(refusal_noted_, true))
    note("warning",
         "the system " + what + ": such data stays where it is; docs/explanation/real-memory.md says why");
}

// Takes over the moves that the mover has completed.
void Migrations::collect_completions() {
  for (const auto& result : parts_.mover->completions()) {
    if (result.ticket < first_pending_ || result.ticket - first_pending_ >= pending_.size()) continue;
    // EFAULT: the memory is not mapped, such as a stack that has not grown yet. That is no refusal.
    if (result.error != 0 && result.error != EFAULT)
      note_refusal("refused to move memory to " + parts_.machine->place(result.to).name + " (" +
                   std::generic_category().message(result.error) + ")");
    auto& pending = pending_[result.ticket - first_pending_];
    pending.complete = true;
    record_transfer(pending, result);
  }
  while (!pending_.empty() && pending_.front().complete) {
    pending_.pop_front();
    ++first_pending_;
  }
}

void Migrations::write() {
  collect_completions();
  if (finished_.transfers.empty()) return;
  parts_.clock->charge(model::k_log_cost);
  if (!named_.moves.empty()) journal_.write(named_);
  journal_.write(finished_);
  named_.moves.clear();
  finished_.transfers.clear();
}

// Writes a move that recurs in every iteration once; transfers refer to it by its name.
void Migrations::assign_name(strategy::ActiveMove& move) {
  const auto& planned = move.planned;
  move.name = num_names_++;
  named_.moves.push_back({move.object, planned.chunk, 1, planned.ask, planned.need, planned.to,
                          Bytes{(*parts_.chunks)[move.chunk].size}, planned.benefit, planned.cost});
}

// Names a move outside of a plan. No phase requests it again, so the record has the phase of the first request.
std::uint32_t Migrations::name_of(const transfer::TransferRequest& move, PhaseIndex phase) {
  const auto [known, is_new] = names_by_move_.try_emplace({move.chunk, move.to}, num_names_);
  if (is_new) {
    const auto& chunks = *parts_.chunks;
    const auto object = chunks[move.chunk].object;
    const auto [first, unknown] = first_chunks_.try_emplace(object, move.chunk);
    if (unknown)
      while (first->second > 0 && chunks[first->second - 1].object == object) --first->second;
    ++num_names_;
    named_.moves.push_back({object, move.chunk - first->second, 1, phase, phase, move.to,
                            Bytes{chunks[move.chunk].size}, Seconds{}, Seconds{}});
  }
  return known->second;
}

void Migrations::record_transfer(const PendingMove& pending, const transfer::TransferResult& result) {
  finished_.transfers.push_back({pending.move, pending.iteration, result.from, result.refused, result.size,
                                 result.asked, result.begun, result.done, pending.waited});
}

}  // namespace terrace::runtime
