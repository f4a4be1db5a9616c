// What the caches let through. The room observe turns loads and stores into quanta; whoever makes time of them
// (the simulator), counts them (a collector) or writes them down (a recorder) is an AccessSink.
//
// A quantum is a stretch of one thread's run of a fixed number of accesses (a call of libm counts for some), or
// less where a phase ended. Its contents do not depend on where data resides: that is what makes replays and the
// lower bound sound.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace terrace::observe {

enum class MissKind : std::uint8_t {
  prefetched,   // a line that a stream prefetcher fetched: exposes latency / prefetch_mlp
  independent,  // overlaps with its neighbours: exposes latency / mlp, and `weight` latencies where they are far
  dependent,    // its address came from a missed line: exposes `weight` latencies
  writeback     // a dirty line written to its place: exposes nothing
};

struct Miss {
  std::uint32_t chunk = 0;
  std::uint16_t line = 0;   // line within the chunk, modulo 65,536: where samples fall
  std::uint8_t weight = 0;  // share of one latency that is exposed, in 255ths; demand misses only
  MissKind kind = MissKind::independent;
};
static_assert(sizeof(Miss) == 8);

inline constexpr std::size_t k_max_cache_levels = 4;

// Calls of one of libm's functions, by its number (machine::LibraryFunction).
struct LibraryCalls {
  std::uint32_t function = 0;
  std::uint32_t count = 0;
};

// Of code that nobody looked into: with each access, itself among them.
inline constexpr std::uint32_t k_instructions_per_access = 4;

// What a call counts for, in accesses, where a quantum ends and whose turn it is: the same on every machine.
inline constexpr std::uint64_t k_accesses_per_call = 8;

struct Quantum {
  std::uint32_t thread = 0;
  std::uint64_t accesses = 0;                            // loads and stores, hits included
  std::uint64_t instructions = 0;                        // of the program's code, as far as its hooks tell
  std::array<std::uint64_t, k_max_cache_levels> hits{};  // by level of the initiator's caches
  std::span<const Miss> misses{};                        // in program order
  std::span<const LibraryCalls> calls{};                 // in the order of their numbers, each once
  std::uint64_t walks = 0;  // page walks of accesses that hit in a cache beyond the first
  // False where an event of the program (a phase's end, a freed object) comes behind it: the accesses belong to
  // what that event ends.
  bool in_stride = true;
};

class AccessSink {
 public:
  virtual ~AccessSink() = default;
  // Comes from every thread: a sink of several locks itself. A lock of the caller's could not be held here, since
  // a thread that holds the sink's may have to bring its own accesses first (to read the clock, to end a phase).
  virtual void quantum(const Quantum& quantum) = 0;
};

}  // namespace terrace::observe
