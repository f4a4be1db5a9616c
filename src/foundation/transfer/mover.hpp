// The one way in which data moves. A transfer is asked for, begins when its turn comes and the ledger has room on
// its target, and is done when the copy is complete; only then does the chunk's `place` change. Transfers of one
// mover run in the order in which they were asked: a move in may rely on the moves out before it.
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

// When a transfer may begin, and how fast it goes then. Those behind it wait for it, too.
struct TransferStart {
  // Not before this time of the clock; a transfer that never comes due waits for hasten().
  Seconds due;
  double rate = 0;  // of full speed; 0: as limit_rate() says
  // Due, and all before it, once the program has touched this chunk, if that is earlier.
  ChunkId sentinel = memory::k_no_chunk;
  // Instead of `due`, where the system does not let that chunk be watched.
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
  Bytes size;  // that changed places; less than the chunk's where the system refused some pages
  Seconds asked;
  Seconds begun;
  Seconds done;
  bool refused = false;  // no room on the target, or the system said no: the chunk stays where it was
  int error = 0;         // the system's reason (errno) where it said no; 0 where the ledger had no room
};

class Mover {
 public:
  virtual ~Mover() = default;
  // Asks for transfers, in this order; their tickets follow one another, and the first of them is returned.
  virtual Ticket submit(std::span<const TransferRequest> requests) = 0;
  Ticket submit(const TransferRequest& request) { return submit(std::span(&request, 1)); }
  [[nodiscard]] virtual bool done(Ticket ticket) = 0;
  // Returns when the transfer is done or refused; in virtual time the clock has then moved on. It and those before
  // it are due from now on.
  virtual void wait(Ticket ticket) = 0;
  // All that was asked for so far is due from now on, and goes as fast as limit_rate() says.
  virtual void expedite_pending() = 0;
  // How fast transfers go from now on, as a share of full speed, (0, 1]; 1 at first. What the program needs of a
  // place's bandwidth is not taken from it then. One that somebody waits for goes at full speed.
  virtual void limit_rate(double share) = 0;
  // For chunks whose object is freed: transfers that have not begun are refused, one that has begun is waited for.
  // A mover that works beside the program also gives their room back, before it begins what may count on it: then
  // they are nowhere (k_no_place).
  virtual void forget(ChunkId first, std::uint32_t count) = 0;
  // What was finished since the last call, in the order in which it finished.
  virtual std::vector<TransferResult> completions() = 0;
  // Ends what works beside the program; what has not begun never does. Nothing may be asked for afterwards.
  virtual void end() {}
};

}  // namespace terrace::transfer
