// How much latency dependent misses expose. A core has so many miss registers; that many dependent misses are
// under way at once, each begins when the data it waits for have arrived and the miss that many places before it
// is done. Counting time in latencies ("levels"), a miss ends one level after it begins. The growth of the highest
// level over as many misses as there are registers is what the longest chain among them exposes; the misses share
// it evenly. One chase exposes one latency a miss, K interleaved ones 1/K each, and chains beyond the registers
// 1/registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "access/level.hpp"
#include "backend/access_sink.hpp"

namespace terrace::access {

class Exposure {
 public:
  explicit Exposure(std::uint32_t miss_registers) : ends_(std::max(miss_registers, 1u), 0) {
    pending_.reserve(ends_.size());
  }

  // A miss that depends on data which arrive at `level`; it is `index` of the misses that `close` will be given.
  // Returns the level at which its own data arrive. When `full` afterwards, `close` is due.
  Level dependent(Level level, std::uint32_t index) {
    const Level end = std::max(level, ends_[oldest_]) + 1;
    ends_[oldest_] = end;
    oldest_ = oldest_ + 1 == ends_.size() ? 0 : oldest_ + 1;
    highest_ = std::max(highest_, end);
    pending_.push_back(index);
    return end;
  }
  // The level of the data of a miss that depends on none: the head of a chain.
  [[nodiscard]] Level independent() const { return ends_[oldest_]; }
  [[nodiscard]] bool full() const { return pending_.size() == ends_.size(); }

  // Gives the pending misses their weights, which sum to the growth of the highest level, in 255ths, exactly.
  void close(std::span<backend::Miss> misses);
  // Nothing overlaps with what comes after (a phase ended).
  void barrier() { std::fill(ends_.begin(), ends_.end(), highest_); }

 private:
  std::vector<Level> ends_;  // a ring: where each of the last dependent misses ended
  std::size_t oldest_ = 0;
  Level highest_ = 0;
  Level shared_out_ = 0;  // of the highest level
  std::vector<std::uint32_t> pending_;
};

}  // namespace terrace::access
