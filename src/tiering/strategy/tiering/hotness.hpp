// SPDX-License-Identifier: Apache-2.0
// Counts the sampled accesses of chunks, with ageing. Shared by the policies that rank chunks by access counts
// (memtis, colloid).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "strategy/policy.hpp"

namespace terrace::strategy {

class HotnessTracker {
 public:
  // Counts are halved after every `cooling` samples.
  explicit HotnessTracker(std::uint64_t cooling) : cooling_(cooling) {}

  void add(const observe::Observation& seen);
  [[nodiscard]] std::uint64_t samples(ChunkId chunk) const { return chunk < counts_.size() ? counts_[chunk] : 0; }
  // Samples for each 2 MiB: chunks of different sizes compare.
  [[nodiscard]] std::uint64_t density(ChunkId chunk, Bytes size) const {
    return samples(chunk) * (std::uint64_t{2} << 20) / size.value;
  }
  // Returns the number of all samples added so far.
  [[nodiscard]] std::uint64_t added() const { return added_; }

 private:
  std::uint64_t cooling_;
  std::vector<std::uint64_t> counts_;  // by chunk
  std::uint64_t added_ = 0;
  std::uint64_t since_cooled_ = 0;
};

// Bins of densities in powers of two: bin n holds 2^n to 2^(n+1) samples per 2 MiB, the first bin also 0, the last
// one all hotter chunks.
inline constexpr std::size_t k_hotness_bins = 16;
inline std::size_t hotness_bin(std::uint64_t density) {
  return density == 0 ? 0 : std::min<std::size_t>(std::bit_width(density) - 1, k_hotness_bins - 1);
}

// A chunk with its samples per 2 MiB.
struct RankedChunk {
  ChunkId chunk = 0;
  std::uint64_t density = 0;
};
// Returns the chunks on `place`, hottest first; equally hot ones in the program's order.
std::vector<RankedChunk> hottest_first(const Tiers& tiers, const HotnessTracker& hotness, PlaceId place);

}  // namespace terrace::strategy
