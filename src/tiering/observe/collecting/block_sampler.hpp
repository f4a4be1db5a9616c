// SPDX-License-Identifier: Apache-2.0
// Samples one event in each block of events (stratified sampling), for the collectors that simulate hardware
// samples. The position in the block is drawn from a small generator with a fixed seed, so that loops cannot alias
// with it and repeated runs are identical to the last digit.
#pragma once

#include <algorithm>
#include <cstdint>

namespace terrace::observe {

// Random numbers from the high bits of a linear congruential generator modulo 2^64 (Knuth's multiplier).
class SmallGenerator {
 public:
  static constexpr std::uint64_t k_seed = 0x9e3779b97f4a7c15;
  explicit SmallGenerator(std::uint64_t seed) : state_(seed) {}
  // Returns a number in [0, 1).
  double draw() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

class BlockSampler {
 public:
  explicit BlockSampler(std::uint64_t seed) : generator_(seed) { next_block(0); }

  // Sets the events in each block that begins from now on; at least 1.
  void set_block(std::uint64_t events) { next_ = std::max<std::uint64_t>(events, 1); }
  // Counts an event. Returns the number of events that it stands for if it is its block's sample, else 0.
  std::uint64_t event() {
    if (to_sample_-- > 0) return 0;
    const auto stands_for = block_;
    next_block(rest_);
    return stands_for;
  }

 private:
  // `left`: events left in the previous block.
  void next_block(std::uint64_t left) {
    block_ = next_;
    const auto at =
        std::min(block_ - 1, static_cast<std::uint64_t>(generator_.draw() * static_cast<double>(block_)));
    to_sample_ = left + at;
    rest_ = block_ - 1 - at;
  }

  SmallGenerator generator_;
  std::uint64_t next_ = 1;
  std::uint64_t block_ = 1;
  std::uint64_t to_sample_ = 0;  // events before the next sample
  std::uint64_t rest_ = 0;       // events after it in its block
};

}  // namespace terrace::observe
