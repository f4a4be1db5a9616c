// The queue of transfers in virtual time: one copy engine, which copies one chunk at a time in the order in which
// transfers were asked for. It knows what runs and how much of it is left; how fast it goes, and when, its owner
// says.
//
// Room: a transfer takes its target's room from the ledger when it begins and gives its source's back when it is
// done, so neither place is over its budget while the chunk is on both. One that finds no room keeps its turn
// and waits, with all behind it, until the program frees some; it is refused when its target's whole budget is
// less than its size, and when someone waits for it (or for one behind it) while nothing can make room any more.
// One that is not due yet keeps its turn as well, and begins when it is.
// Refused, too: freed chunks, a place in another domain than the chunk's, one that the initiator has no path to.
// A chunk that is there already is done at once, and one that nobody has touched or bound has nothing to copy.
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
  struct Running {
    transfer::TransferResult result;
    CopyDemand demand;
    double left = 0;  // bytes
    double rate = 0;  // of full speed, where it was asked for at one of its own
  };

  CopyEngine(const machine::Machine& machine, const TimeLaw& law, memory::ChunkTable& chunks,
             memory::Ledger& ledger);

  // As Mover::submit.
  transfer::Ticket submit(std::span<const transfer::TransferRequest> requests, Seconds now);
  // Begins what can begin. Room may have come free since the last call.
  void start(Seconds now);
  // nullptr while nothing is being copied.
  [[nodiscard]] Running* running() { return running_ ? &*running_ : nullptr; }
  [[nodiscard]] const Running* running() const { return running_ ? &*running_ : nullptr; }
  // The running transfer is complete: its chunk is on the target from now on. Begins the next.
  transfer::TransferResult complete(Seconds now);
  // The transfer at the head of the queue has no room and will get none.
  void refuse_head(Seconds now);
  // When the head of the queue will be due that start() found not to be; nothing while something is copied, or the
  // head never comes due by itself.
  [[nodiscard]] std::optional<Seconds> next_due() const { return next_due_; }
  // The chunks whose touch something waits for; and one of them was touched: it is due, with all before it.
  [[nodiscard]] const std::vector<ChunkId>& sentinels() const { return sentinels_; }
  void touched(ChunkId sentinel);
  // Due from now on: all that was asked for, or what comes before that ticket, and it.
  void expedite_pending();
  void expedite_pending(transfer::Ticket until);
  void forget_queued(ChunkId first, std::uint32_t count, Seconds now);
  [[nodiscard]] bool done(transfer::Ticket ticket) const;
  // Of the program, alive: what leaves cores to transfers that begin from now on.
  void beside(std::uint32_t threads) { threads_ = threads; }
  [[nodiscard]] std::vector<transfer::TransferResult> completions();

 private:
  enum class Room { taken, wait, never };
  struct Queued {
    transfer::TransferResult result;
    transfer::TransferStart start;
  };
  [[nodiscard]] bool makes_sense(const transfer::TransferResult& request) const;
  Room take_room(PlaceId place, Bytes size);
  void list_sentinels();
  void finish(transfer::TransferResult result, Seconds now, bool refused);

  const machine::Machine& machine_;
  const TimeLaw& law_;
  memory::ChunkTable& chunks_;
  memory::Ledger& ledger_;
  std::uint32_t threads_ = 1;
  transfer::Ticket last_ticket_ = 0;
  std::deque<Queued> queue_;  // ascending by ticket
  std::optional<Seconds> next_due_;
  std::vector<ChunkId> sentinels_;  // of the queue, in its order
  std::optional<Running> running_;
  std::vector<transfer::TransferResult> finished_;
};

}  // namespace terrace::sim
