// SPDX-License-Identifier: Apache-2.0
// Declares the interface of movers, which execute chunk migrations (transfers) that placement strategies queue.
//
// A transfer begins in queue order, when it is due and the ledger grants capacity on its target. It is done when
// the copy is complete; only then does the chunk's `place` change. Order is FIFO: a promotion may rely on the
// capacity that earlier demotions free. Implementations: MoveQueue (real memory), sim::VirtualMachine (virtual
// time).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::transfer {

using Ticket = std::uint64_t;

inline constexpr Seconds k_never{std::numeric_limits<double>::infinity()};

// Start condition and rate of a transfer. Later transfers of the queue wait for it, too.
struct TransferStart {
  // Earliest start by the mover's clock; k_never: waits for expedite_pending().
  Seconds due;
  double rate = 0;  // share of full speed; 0: as set by limit_rate()
  // The transfer and all before it become due when the program accesses this chunk, if that is earlier than `due`.
  ChunkId sentinel = memory::k_no_chunk;
  // Replaces `due` where the system cannot watch the sentinel.
  Seconds fallback_due = k_never;
};
struct TransferRequest {
  ChunkId chunk = 0;
  PlaceId to = 0;
  TransferStart start{};
};

struct TransferResult {
  Ticket ticket = 0;
  ChunkId chunk = 0;
  PlaceId from = 0;
  PlaceId to = 0;
  Bytes size;  // bytes migrated; less than the chunk's where the system refused some pages
  Seconds asked;
  Seconds begun;
  Seconds done;
  bool refused = false;  // no capacity on the target, or refused by the system: the chunk keeps its place
  int error = 0;         // errno value of the system; 0 where the ledger had no capacity
};

class Mover {
 public:
  virtual ~Mover() = default;
  // Appends transfers to the queue. Returns the ticket of the first; tickets are consecutive.
  virtual Ticket submit(std::span<const TransferRequest> requests) = 0;
  Ticket submit(const TransferRequest& request) { return submit(std::span(&request, 1)); }
  [[nodiscard]] virtual bool done(Ticket ticket) = 0;
  // Waits until the transfer is done or refused; makes it and all before it due immediately. In virtual time the
  // clock advances by the wait.
  virtual void wait(Ticket ticket) = 0;
  // Makes all queued transfers due immediately, at the rate set by limit_rate().
  virtual void expedite_pending() = 0;
  // Limits the rate of transfers to a share of full speed, in (0, 1], initially 1, to leave bandwidth to the
  // program. A transfer that a thread waits for runs at full speed.
  virtual void limit_rate(double share) = 0;
  // Cancels transfers of chunks whose object is freed: refuses those that have not begun, and waits for one that
  // has. An asynchronous mover also releases their ledger charges, before it begins a transfer that may rely on
  // the capacity; their place is k_no_place then.
  virtual void forget(ChunkId first, std::uint32_t count) = 0;
  // Returns and clears the transfers finished since the last call, in order of completion.
  virtual std::vector<TransferResult> completions() = 0;
  // Stops background threads; queued transfers never begin. Requires: no submit() afterwards.
  virtual void end() {}
};

}  // namespace terrace::transfer
