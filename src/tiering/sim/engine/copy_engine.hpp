// SPDX-License-Identifier: Apache-2.0
// Implements the transfer queue of virtual time: one copy engine, which copies one chunk at a time in the order of
// submission. It tracks the running transfer and its remaining bytes; its owner, VirtualMachine, determines speed
// and time.
//
// Capacity: a transfer reserves its target's capacity in the ledger when it begins, and releases its source's when
// it completes. So neither place exceeds its budget while the chunk occupies both. A transfer without capacity
// keeps its position and blocks the queue until the program frees memory. A transfer that is not due yet keeps its
// position as well.
//
// Refused are: a transfer larger than its target's whole budget; a transfer without capacity, if a thread waits
// for it or for a later one and nothing can free capacity; freed chunks; targets in another domain than the
// chunk's; targets without a path from the initiator. A chunk that is already on its target completes at once, as
// does one without content (never touched nor bound).
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "memory/chunk_table.hpp"
#include "memory/ledger.hpp"
#include "sim/engine/time_law.hpp"
#include "transfer/mover.hpp"

namespace terrace::sim {

class CopyEngine {
 public:
  struct RunningCopy {
    transfer::TransferResult result;
    CopyDemand demand;
    double left = 0;  // bytes
    double rate = 0;  // share of full speed that the request sets; 0: none set
  };

  CopyEngine(const machine::Machine& machine, const TimeLaw& law, memory::ChunkTable& chunks,
             memory::Ledger& ledger);

  // Queues the requests, as Mover::submit does.
  transfer::Ticket submit(std::span<const transfer::TransferRequest> requests, Seconds now);
  // Begins the next transfer if possible. Capacity may have become free since the last call.
  void start(Seconds now);
  // Returns the running transfer, or nullptr.
  [[nodiscard]] RunningCopy* running() { return running_ ? &*running_ : nullptr; }
  [[nodiscard]] const RunningCopy* running() const { return running_ ? &*running_ : nullptr; }
  // Completes the running transfer: its chunk moves to the target. Begins the next one.
  transfer::TransferResult complete(Seconds now);
  // Refuses the transfer at the head of the queue, because nothing can free capacity for it.
  void refuse_head(Seconds now);
  // Returns when the head of the queue, which start() found not to be due, will be. Empty while a transfer runs,
  // or if the head never becomes due by itself.
  [[nodiscard]] std::optional<Seconds> next_due() const { return next_due_; }
  // Returns the chunks whose access triggers queued transfers.
  [[nodiscard]] const std::vector<ChunkId>& sentinels() const { return sentinels_; }
  // Makes the transfers with that sentinel, and all queued before them, due: the chunk was accessed.
  void on_sentinel_access(ChunkId sentinel);
  // Makes due from now on: all queued transfers, or those up to and including `until`.
  void expedite_pending();
  void expedite_pending(transfer::Ticket until);
  // Refuses the queued transfers of these chunks, which are being freed.
  void cancel_queued(ChunkId first, std::uint32_t count, Seconds now);
  [[nodiscard]] bool done(transfer::Ticket ticket) const;
  // Sets the number of live program threads, which determines the cores left to transfers that begin from now on.
  void set_num_threads(std::uint32_t threads) { threads_ = threads; }
  [[nodiscard]] std::vector<transfer::TransferResult> completions();

 private:
  enum class Reservation { made, pending, impossible };
  struct QueuedCopy {
    transfer::TransferResult result;
    transfer::TransferStart start;
  };
  [[nodiscard]] bool is_valid(const transfer::TransferResult& request) const;
  Reservation reserve_target(PlaceId place, Bytes size);
  void list_sentinels();
  void finish(transfer::TransferResult result, Seconds now, bool refused);

  const machine::Machine& machine_;
  const TimeLaw& law_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  std::uint32_t threads_ = 1;
  transfer::Ticket last_ticket_ = 0;
  std::deque<QueuedCopy> queue_;  // ascending by ticket
  std::optional<Seconds> next_due_;
  std::vector<ChunkId> sentinels_;  // of the queue, in its order, without duplicates
  std::optional<RunningCopy> running_;
  std::vector<transfer::TransferResult> finished_;
};

}  // namespace terrace::sim
