// SPDX-License-Identifier: Apache-2.0
// Predicts the line that an instruction misses next, from the distance of its last two misses. The pipeline
// prefetches the simulated sets of that line into the host's caches. Affects the simulator's speed only, no
// result.
#pragma once

#include <array>
#include <cstdint>

namespace terrace::observe {

class MissStridePredictor {
 public:
  // Records that the instruction at `site` missed `line`. Returns the predicted distance to its next miss, in
  // lines; 0 where the distance is not steady.
  std::uint64_t on_miss(std::uint64_t site, std::uint64_t line) {
    Entry& entry = entries_[(site ^ site >> k_bits) % k_entries];
    const std::uint64_t stride = line - entry.line;
    const bool is_steady = stride == entry.stride;
    entry = {line, stride};
    return is_steady ? stride : 0;
  }

 private:
  static constexpr unsigned k_bits = 7;
  static constexpr std::size_t k_entries = std::size_t{1} << k_bits;
  struct Entry {
    std::uint64_t line = 0;
    std::uint64_t stride = 0;  // modulo 2^64
  };
  std::array<Entry, k_entries> entries_{};
};

}  // namespace terrace::observe
