// SPDX-License-Identifier: Apache-2.0
// Counts sampled accesses by chunk and ranks chunks by them, for the policies memtis and colloid. See hotness.hpp.
#include "strategy/tiering/hotness.hpp"

#include <algorithm>

namespace terrace::strategy {

void HotnessTracker::add(const observe::Observation& seen) {
  for (const auto& sampled : seen.samples) {
    if (sampled.chunk >= counts_.size()) counts_.resize(std::size_t{sampled.chunk} + 1, 0);
    const auto samples = sampled.reads + sampled.writes;
    counts_[sampled.chunk] += samples;
    added_ += samples;
    since_cooled_ += samples;
  }
  for (; since_cooled_ >= cooling_; since_cooled_ -= cooling_)
    for (auto& count : counts_) count /= 2;
}

std::vector<RankedChunk> hottest_first(const Tiers& tiers, const HotnessTracker& hotness, PlaceId place) {
  std::vector<RankedChunk> ranked;
  for (ChunkId chunk = 0; chunk < tiers.chunks->size(); ++chunk)
    if (tiers.is_on(chunk, place)) ranked.push_back({chunk, hotness.density(chunk, tiers.size(chunk))});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.density > b.density; });
  return ranked;
}

}  // namespace terrace::strategy
