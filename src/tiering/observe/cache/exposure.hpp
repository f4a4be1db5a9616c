// How much latency demand misses expose, beyond what misses that overlap expose anyway (latency / mlp each).
//
// A core has so many miss registers: that many demand misses are under way at once. It retires accesses in their
// order and has so many of them under way, its reorder window: an access begins when the load that is a window
// before it is done. A store retires without its line and waits for it in the store buffer, which stores leave in
// their order, each after every earlier access: a store, and whatever follows it, begins when the store that is a
// whole buffer of stores before it has left. So a miss begins when the data that it waits for have arrived, when
// the miss as many places before it as there are registers is done, when every load that missed at least a window
// of accesses before it is, and when everything that missed at least a buffer of stores before it is.
// Counting time in latencies ("levels"), it ends one level after it begins. The growth of the highest level is
// what the misses expose together. One chase exposes a latency a miss, K interleaved ones 1/K each, chains beyond
// the registers 1/registers; independent misses side by side 1/registers; loads farther apart than a window, and
// stores with a buffer of stores between them, a latency.
//
// Independent misses are charged latency / mlp each, so only the growth beyond 1/registers of them is shared out:
// evenly among the dependent misses of a batch, up to a latency each, and what is left among the others.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "observe/access_sink.hpp"
#include "observe/cache/level.hpp"

namespace terrace::observe {

class Exposure {
 public:
  // Where an access is in the program: line accesses up to it and stores among them. Neither ever falls.
  struct At {
    std::uint64_t access = 0;
    std::uint64_t stores = 0;
    bool store = false;
  };

  // Throws nothing; a register, a window of one access and a buffer of one store are there at least.
  Exposure(std::uint32_t miss_registers, std::uint32_t window, std::uint32_t store_buffer);

  // A demand miss; it is `index` of the misses that `close` will be given, and waits for data that arrive at
  // `level` (0: for none). Returns the level at which its own data arrive. When `full` afterwards, `close` is due.
  Level miss(Level level, const At& at, std::uint32_t index);
  [[nodiscard]] bool full() const { return pending_.size() == ends_.size(); }

  // Gives the pending misses their weights, in 255ths. They sum to the growth that is to be shared out, exactly,
  // but for what misses that overlapped more than their share make up for later.
  void close(std::span<Miss> misses);
  // Nothing overlaps with what comes after (a phase ended).
  void barrier();

 private:
  struct Past {
    std::uint64_t access = 0;
    std::uint64_t stores = 0;
    Level highest = 0;  // at which the miss is done, and all before it for which it waits
  };
  // Misses of one kind that others may still have to wait for, oldest first: a ring of a power of two.
  class Queue {
   public:
    explicit Queue(std::uint32_t most) : past_(std::bit_ceil(std::size_t{most} + 1)) {}
    [[nodiscard]] bool empty() const { return first_ == next_; }
    [[nodiscard]] const Past& front() const { return past_[first_ & (past_.size() - 1)]; }
    void pop() { ++first_; }
    void push(const Past& past) { past_[next_++ & (past_.size() - 1)] = past; }

   private:
    std::vector<Past> past_;
    std::uint64_t first_ = 0, next_ = 0;
  };

  // The level at which all misses are done that an access here has to wait for.
  Level retired(const At& at);

  std::vector<Level> ends_;  // a ring: where each of the last misses ended
  std::size_t oldest_ = 0;
  std::uint64_t window_;
  std::uint64_t store_buffer_;
  Queue loads_;   // that are not retired
  Queue stores_;  // that are in the buffer
  Level retired_ = 0;
  Level highest_load_ = 0;
  Level highest_ = 0;
  Level shared_out_ = 0;      // of the highest level
  std::int64_t balance_ = 0;  // to be shared out, in 255ths of a level by registers; below 0: shared out too early
  std::vector<std::uint32_t> pending_;
};

}  // namespace terrace::observe
