// SPDX-License-Identifier: Apache-2.0
// Declares the interface of replacement policies of out-of-core memory: which chunk is prefetched next, and which
// is evicted.
//
// The spill engine (spill.hpp, and sim/engine/virtual_spill.hpp in virtual time) reports accesses and state
// changes; the policy answers with choices. The policies are in strategy/spill. One thread calls a policy; no call
// throws.
#pragma once

#include <cstdint>
#include <optional>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::transfer {

// State of a spilled chunk as the policy sees it.
enum class PageState : std::uint8_t {
  empty,              // no content: never accessed, or all zeros
  mapped,             // resident at its address: accesses are not observed
  pinned,             // mapped, and not evictable
  unmapped_resident,  // resident or being read, but not mapped: the next access faults and is observed
  swapped_out         // in the file, or being written to it
};

// Measurements of the engine since its start: the inputs of a time forecast.
struct SpillStatistics {
  Seconds now;                   // clock at the latest access
  std::size_t room = 0;          // capacity in chunks, without the pages reserved for evictions
  std::size_t kept = 0;          // pages reserved for evictions
  std::size_t under_way = 0;     // reads and writes in flight
  std::uint64_t moved = 0;       // chunks read or written
  Seconds busy;                  // time with at least one read or write in flight
  std::uint64_t prefetched = 0;  // chunks read before their access
  std::uint64_t demanded = 0;    // chunks read on a fault
  std::uint64_t unexpected = 0;  // of `demanded`: accesses that the policy had not predicted
  std::uint64_t written = 0;     // chunks written
  std::uint64_t clean = 0;       // chunks evicted without a write
  std::uint64_t served = 0;      // faults on resident chunks
  Seconds serving;               // total wait of these faults
};

// Totals over the segments of a thread's run: time predicted at the start of each segment, and time measured.
struct PredictionTotals {
  Seconds predicted, measured;
  std::uint64_t segments = 0;
};

// Retention that a plan asks for a chunk.
enum class Preference : std::uint8_t { none, keep, evict_first };

// Outcome of the trial of a plan: the share of time that it saved, once measured, and whether it was reverted.
struct PlanVerdict {
  std::optional<double> gain;
  bool undone = false;
};

class ReplacementPolicy {
 public:
  struct Choice {
    ChunkId chunk = 0;
    double when = 0;  // predicted next use; a smaller value is earlier
  };
  virtual ~ReplacementPolicy() = default;
  // Reports an access to a chunk that was not mapped. `worked`: time since the thread's previous observed access,
  // without its waits. Returns whether the policy had predicted this access.
  virtual bool on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept = 0;
  // Returns predicted and measured time up to now. Called after each access, before any other call.
  // Invariant: measurements made after a segment began do not change its prediction.
  virtual PredictionTotals predicted(const SpillStatistics& measured) noexcept = 0;
  virtual void on_state_change(ChunkId chunk, PageState to) noexcept = 0;
  // Returns the swapped-out chunk with the earliest predicted use, if one is known.
  virtual std::optional<Choice> next_prefetch() noexcept = 0;
  // Returns a mapped chunk to unmap as a sentinel: a fault on it reports the program's position within a sequence
  // of mapped chunks. Names each chunk once.
  virtual std::optional<ChunkId> next_sentinel() noexcept = 0;
  // Returns the best resident chunk to evict. Repeated calls without a state change in between return different
  // chunks.
  virtual std::optional<Choice> next_victim() noexcept = 0;
  // Sets the preference of `count` chunks from `first` on. Policies without plans ignore it.
  virtual void prefer(ChunkId /*first*/, std::uint32_t /*count*/, Preference) noexcept {}
  [[nodiscard]] virtual PlanVerdict verdict() const noexcept { return {}; }
};

}  // namespace terrace::transfer
