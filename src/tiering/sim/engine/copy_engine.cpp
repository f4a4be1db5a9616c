// SPDX-License-Identifier: Apache-2.0
// Starts, completes and refuses the transfers of chunks in virtual time, in the order of submission, for
// VirtualMachine, which advances its time. See copy_engine.hpp.
#include "sim/engine/copy_engine.hpp"

#include <algorithm>
#include <utility>

namespace terrace::sim {

using transfer::Ticket;
using transfer::TransferResult;

CopyEngine::CopyEngine(const machine::Machine& machine, const TimeLaw& law, memory::ChunkTable& chunks,
                       memory::Ledger& ledger)
    : machine_(machine), law_(law), chunks_(chunks), ledger_(ledger) {}

Ticket CopyEngine::submit(std::span<const transfer::TransferRequest> requests, Seconds now) {
  const auto first = last_ticket_ + 1;
  for (const auto& request : requests) {
    QueuedCopy transfer;
    transfer.result.ticket = ++last_ticket_;
    transfer.result.chunk = request.chunk;
    transfer.result.to = request.to;
    transfer.result.asked = now;
    transfer.start = request.start;
    queue_.push_back(transfer);
  }
  list_sentinels();
  start(now);
  return first;
}

bool CopyEngine::is_valid(const TransferResult& request) const {
  if (request.chunk >= chunks_.size() || request.to >= machine_.places().size()) return false;
  const auto& chunk = chunks_[request.chunk];
  return chunk.live && machine_.place(request.to).domain == chunk.domain && law_.view().reaches(request.to);
}

CopyEngine::Reservation CopyEngine::reserve_target(PlaceId place, Bytes size) {
  if (ledger_.take(place, size)) return Reservation::made;
  return ledger_.budget(place) < size ? Reservation::impossible : Reservation::pending;
}

void CopyEngine::finish(TransferResult result, Seconds now, bool refused) {
  result.done = now;
  result.refused = refused;
  finished_.push_back(result);
}

void CopyEngine::start(Seconds now) {
  next_due_.reset();
  while (!running_ && !queue_.empty()) {
    if (const auto due = queue_.front().start.due; due > now) {
      if (due < transfer::k_never) next_due_ = due;
      return;
    }
    auto next = queue_.front().result;
    const auto rate = queue_.front().start.rate;
    next.begun = now;
    if (!is_valid(next)) {
      queue_.pop_front();
      finish(next, now, true);
      continue;
    }
    auto& chunk = chunks_[next.chunk];
    const Bytes size{chunk.size};
    next.from = chunk.place.load(std::memory_order_relaxed);
    if (next.from == next.to) {
      queue_.pop_front();
      finish(next, now, false);
      continue;
    }
    const auto reservation = reserve_target(next.to, size);
    if (reservation == Reservation::pending) return;
    queue_.pop_front();
    if (reservation == Reservation::impossible) {
      finish(next, now, true);
    } else if (next.from == k_no_place) {
      chunks_.put(chunk, next.to);
      finish(next, now, false);
    } else {
      next.size = size;
      running_ =
          RunningCopy{next, law_.copy(next.from, next.to, size, threads_), static_cast<double>(size.value), rate};
    }
  }
}

TransferResult CopyEngine::complete(Seconds now) {
  auto result = running_->result;
  running_.reset();
  chunks_.put(chunks_[result.chunk], result.to);
  ledger_.give(result.from, result.size);
  finish(result, now, false);
  start(now);
  return result;
}

void CopyEngine::refuse_head(Seconds now) {
  if (queue_.empty()) return;
  auto head = queue_.front().result;
  queue_.pop_front();
  head.begun = now;
  head.from = chunks_[head.chunk].place.load(std::memory_order_relaxed);
  finish(head, now, true);
  start(now);
}

void CopyEngine::expedite_pending() {
  for (auto& queued : queue_) queued.start = {};
  if (running_) running_->rate = 0;
  sentinels_.clear();
}

void CopyEngine::list_sentinels() {
  sentinels_.clear();
  for (const auto& queued : queue_)
    if (const auto chunk = queued.start.sentinel;
        chunk != memory::k_no_chunk && std::ranges::find(sentinels_, chunk) == sentinels_.end())
      sentinels_.push_back(chunk);
}

void CopyEngine::on_sentinel_access(ChunkId sentinel) {
  const auto last = std::find_if(queue_.rbegin(), queue_.rend(),
                                 [&](const QueuedCopy& queued) { return queued.start.sentinel == sentinel; });
  for (auto at = last; at != queue_.rend(); ++at) {
    at->start.due = {};
    at->start.sentinel = memory::k_no_chunk;
  }
  list_sentinels();
}

void CopyEngine::expedite_pending(Ticket until) {
  for (auto& queued : queue_)
    if (queued.result.ticket <= until) queued.start = {};
  list_sentinels();
}

void CopyEngine::cancel_queued(ChunkId first, std::uint32_t count, Seconds now) {
  const auto forgotten = [&](const QueuedCopy& transfer) {
    return transfer.result.chunk >= first && transfer.result.chunk - first < count;
  };
  for (const auto& queued : queue_) {
    if (!forgotten(queued)) continue;
    auto transfer = queued.result;
    transfer.begun = now;
    finish(transfer, now, true);
  }
  std::erase_if(queue_, forgotten);
  list_sentinels();
  start(now);
}

bool CopyEngine::done(Ticket ticket) const {
  if (running_ && running_->result.ticket == ticket) return false;
  const auto at =
      std::lower_bound(queue_.begin(), queue_.end(), ticket,
                       [](const QueuedCopy& queued, Ticket number) { return queued.result.ticket < number; });
  return at == queue_.end() || at->result.ticket != ticket;
}

std::vector<TransferResult> CopyEngine::completions() { return std::exchange(finished_, {}); }

}  // namespace terrace::sim
