// SPDX-License-Identifier: Apache-2.0
// Defines the interface between the pipeline, which turns loads and stores into quanta, and its consumers: the
// simulator (prices them), collectors (count them) and the recorder (writes them to a file) implement AccessSink.
//
// A quantum is a segment of one thread's execution with a fixed number of accesses (a libm call counts as
// several), or fewer where a phase ended. Invariant: its contents do not depend on where data resides, so that
// replays and the lower bound are valid for every placement.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace terrace::observe {

enum class MissKind : std::uint8_t {
  prefetched,   // fetched by a stream prefetcher: exposes latency / prefetch_mlp
  independent,  // overlaps with other misses: exposes latency / mlp, plus `weight` latencies if these are distant
  dependent,    // its address was loaded from a missed line: exposes `weight` latencies
  writeback     // a dirty line written to its place: exposes nothing
};

struct Miss {
  std::uint32_t chunk = 0;
  std::uint16_t line = 0;   // line within the chunk, modulo 65,536
  std::uint8_t weight = 0;  // exposed share of a latency, in 255ths; demand misses only
  MissKind kind = MissKind::independent;
};
static_assert(sizeof(Miss) == 8);

inline constexpr std::size_t k_max_cache_levels = 4;

// Number of calls of a libm function (machine::LibraryFunction).
struct LibraryCalls {
  std::uint32_t function = 0;
  std::uint32_t count = 0;
};

// Assumed instructions for each access, itself included, in code that was not disassembled.
inline constexpr std::uint32_t k_instructions_per_access = 4;

// Accesses that a libm call counts as, for the end of a quantum and for scheduling: the same on every machine.
inline constexpr std::uint64_t k_accesses_per_call = 8;

struct Quantum {
  std::uint32_t thread = 0;
  std::uint64_t accesses = 0;                            // loads and stores, hits included
  std::uint64_t instructions = 0;                        // of the program's instrumented code
  std::array<std::uint64_t, k_max_cache_levels> hits{};  // by level of the initiator's caches
  std::span<const Miss> misses{};                        // in program order
  std::span<const LibraryCalls> calls{};                 // in the order of their numbers, each once
  std::uint64_t walks = 0;  // page walks of accesses that hit in a cache beyond the first
  // Is false where an event of the program (a phase's end, a freed object) ended the quantum: its accesses belong
  // to what that event ends.
  bool in_stride = true;
};

class AccessSink {
 public:
  virtual ~AccessSink() = default;
  // Called by every thread; a sink that is shared by threads does its own locking. The caller must hold no lock
  // here: a thread that holds the sink's lock may have to flush its own accesses (to read the clock, to end a
  // phase).
  virtual void quantum(const Quantum& quantum) = 0;
};

}  // namespace terrace::observe
