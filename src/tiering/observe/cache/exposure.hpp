// SPDX-License-Identifier: Apache-2.0
// Computes the latency that demand misses expose beyond that of overlapping misses (latency / mlp each). Each
// thread's pipeline has a model.
//
// Model of the core: it has a number of miss status registers (MSHRs), which limits the demand misses in flight.
// It retires accesses in order from a reorder window: an access begins when the load one window before it is done.
// A store retires before its line arrives and waits for it in the store buffer, which stores leave in order, each
// after all earlier accesses: an access begins when the store one buffer of stores before it has left. So a miss
// begins when
// - the data on which its address depends have arrived,
// - the miss as many misses before it as there are registers is done,
// - every load that missed at least a window of accesses before it is done, and
// - everything that missed at least a buffer of stores before it is done. Time is counted in latencies ("levels");
// a miss ends one level after it begins. The growth of the highest level is the exposure of all misses together. A
// single chase exposes a latency a miss, K interleaved ones 1/K each, more chains than registers 1/registers;
// overlapping independent misses 1/registers; loads farther apart than a window, and stores with a buffer of
// stores between them, a latency.
//
// Independent misses are charged latency / mlp each, so only the growth beyond 1/registers of them is distributed:
// evenly among the dependent misses of a batch, up to a latency each, and the rest among the others.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "observe/access_sink.hpp"

namespace terrace::observe {

// Unit of time of chains of dependent misses: a level is one memory latency.
using Level = std::uint64_t;
// No level: there is nothing to wait for. A plain number, because it is passed with every miss and an optional
// does not fit in one register.
inline constexpr Level k_no_level = ~std::uint64_t{0};

class ExposureModel {
 public:
  // Position of an access in the program: line accesses up to it, and stores among them. Both are monotonic.
  struct Position {
    std::uint64_t access = 0;
    std::uint64_t stores = 0;
    bool store = false;
  };

  // Each value is at least 1.
  ExposureModel(std::uint32_t miss_registers, std::uint32_t window, std::uint32_t store_buffer);

  // Records a demand miss: `index` in the array that `distribute` will get; it waits for data that arrive at
  // `level` (0: for none). Returns the level at which its own data arrive. Requires: `distribute` is called once
  // is_full().
  Level on_miss(Level level, const Position& at, std::uint32_t index);
  [[nodiscard]] bool is_full() const { return pending_.size() == completions_.size(); }

  // Sets the weights of the pending misses, in 255ths of a latency. Invariant: they sum to the growth to be
  // distributed, except for what later misses compensate because these overlapped more than their share.
  void distribute(std::span<Miss> misses);
  // Lets no later miss overlap with earlier ones (a phase ended).
  void barrier();

 private:
  struct PastMiss {
    std::uint64_t access = 0;
    std::uint64_t stores = 0;
    Level highest = 0;  // at which the miss is done, and all earlier misses for which it waits
  };
  // Misses of one kind for which later ones may have to wait, oldest first: a ring of a power of two.
  class Queue {
   public:
    explicit Queue(std::uint32_t max_size) : past_(std::bit_ceil(std::size_t{max_size} + 1)) {}
    [[nodiscard]] bool empty() const { return first_ == next_; }
    [[nodiscard]] const PastMiss& front() const { return past_[first_ & (past_.size() - 1)]; }
    void pop() { ++first_; }
    void push(const PastMiss& past) { past_[next_++ & (past_.size() - 1)] = past; }

   private:
    std::vector<PastMiss> past_;
    std::uint64_t first_ = 0, next_ = 0;
  };

  // Returns the level at which all misses are done for which an access at this position has to wait.
  Level retire_until(const Position& at);

  std::vector<Level>
      completions_;  // ring: the level at which each of the last misses is done, one for each register
  std::size_t oldest_ = 0;
  std::uint64_t window_;
  std::uint64_t store_buffer_;
  Queue loads_;   // not retired
  Queue stores_;  // in the store buffer
  Level retired_ = 0;
  Level highest_load_ = 0;
  Level highest_ = 0;
  Level distributed_ = 0;  // up to this level
  // To be distributed, in 255ths of a level by registers; below 0: distributed too early.
  std::int64_t balance_ = 0;
  std::vector<std::uint32_t> pending_;
};

}  // namespace terrace::observe
