// How much latency demand misses expose, beyond what misses that overlap expose anyway (latency / mlp each).
//
// A core has so many miss registers: that many demand misses are under way at once. It retires accesses in their
// order and has so many of them under way, its reorder window: an access begins when the one that is a window
// before it is done. A miss begins when the data that it waits for have arrived, when the miss as many places
// before it as there are registers is done, and when every miss at least a window of accesses before it is.
// Counting time in latencies ("levels"), it ends one level after it begins. The growth of the highest level is
// what the misses expose together. One chase exposes a latency a miss, K interleaved ones 1/K each, chains beyond
// the registers 1/registers; independent misses side by side 1/registers, farther apart than a window a latency.
//
// Independent misses are charged latency / mlp each, so only the growth beyond 1/registers of them is shared out:
// evenly among the dependent misses of a batch, up to a latency each, and what is left among the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "observe/access_sink.hpp"
#include "observe/cache/level.hpp"

namespace terrace::observe {

class Exposure {
 public:
  // Throws nothing; a register and a window of one access are there at least.
  Exposure(std::uint32_t miss_registers, std::uint32_t window);

  // A demand miss at line access `now`, which never falls; it is `index` of the misses that `close` will be given,
  // and waits for data that arrive at `level` (0: for none). Returns the level at which its own data arrive. When
  // `full` afterwards, `close` is due.
  Level miss(Level level, std::uint64_t now, std::uint32_t index);
  [[nodiscard]] bool full() const { return pending_.size() == ends_.size(); }

  // Gives the pending misses their weights, in 255ths. They sum to the growth that is to be shared out, exactly,
  // but for what misses that overlapped more than their share make up for later.
  void close(std::span<Miss> misses);
  // Nothing overlaps with what comes after (a phase ended).
  void barrier();

 private:
  struct Past {
    std::uint64_t at = 0;  // line access
    Level highest = 0;     // of this miss and all before it
  };

  // The level at which all misses are done that are a window before `now`.
  Level retired(std::uint64_t now);

  std::vector<Level> ends_;  // a ring: where each of the last misses ended
  std::size_t oldest_ = 0;
  std::uint64_t window_;
  std::vector<Past> past_;  // a ring of misses within the window; its size is a power of two
  std::uint64_t first_past_ = 0, next_past_ = 0;
  Level retired_ = 0;
  Level highest_ = 0;
  Level shared_out_ = 0;      // of the highest level
  std::int64_t balance_ = 0;  // to be shared out, in 255ths of a level by registers; below 0: shared out too early
  std::vector<std::uint32_t> pending_;
};

}  // namespace terrace::observe
