// SPDX-License-Identifier: Apache-2.0
// Detects sequential passes through an object and predicts their next chunks, so that EarlyMoveSelector can
// prefetch them. See sweep_detector.hpp.
#include "strategy/learning/sweep_detector.hpp"

#include <algorithm>

namespace terrace::strategy {

void SweepDetector::on_segment(std::span<const Use> uses, const memory::ChunkTable& chunks) {
  ++segment_;
  next_.clear();
  visits_.resize(chunks.size());
  for (const auto& use : uses) {
    auto& visit = visits_[use.chunk];
    visit.fresh = visit.last == 0 || visit.last + 2 + max_gap(visit) < segment_;
    if (visit.fresh) {
      visit.gain = 0;
      visit.first = segment_;
    }
    visit.gain += use.gain;
    visit.last = segment_;
  }
  for (std::size_t i = 0; i < uses.size();) {
    auto end = i + 1;
    while (end < uses.size() && uses[end].chunk == uses[end - 1].chunk + 1 &&
           chunks[uses[end].chunk].object == chunks[uses[i].chunk].object)
      ++end;
    follow(uses[i].chunk, uses[end - 1].chunk, chunks);
    i = end;
  }
}

// Extends a sweep by neighbouring chunks used in one segment. It moves away from the side that was in use before;
// the number of newly used chunks is its rate.
void SweepDetector::follow(ChunkId first, ChunkId last, const memory::ChunkTable& chunks) {
  std::uint32_t rate = 0;
  for (auto chunk = first; chunk <= last; ++chunk) rate += visits_[chunk].fresh ? 1 : 0;
  const auto object = chunks[first].object;
  const bool from_below =
      was_used_before(first) || (first > 0 && chunks[first - 1].object == object && was_used_before(first - 1));
  const bool from_above =
      was_used_before(last) ||
      (last + 1 < chunks.size() && chunks[last + 1].object == object && was_used_before(last + 1));
  if (visits_[last].fresh && from_below && !from_above) look_ahead(last, 1, rate, chunks);
  if (visits_[first].fresh && from_above && !from_below) look_ahead(first, -1, rate, chunks);
}

// Predicts the next chunks of the sweep. At more than one chunk per segment, chunks of the segment that has begun
// are skipped, because they would arrive too late.
void SweepDetector::look_ahead(ChunkId head, int step, std::uint32_t rate, const memory::ChunkTable& chunks) {
  const auto behind = head - static_cast<ChunkId>(step) * rate;  // its visit is (almost) complete
  const auto& model =
      behind < visits_.size() && visits_[behind].gain > visits_[head].gain ? visits_[behind] : visits_[head];
  for (std::uint32_t n = rate > 1 ? rate + 1 : 1; n <= 2 * rate; ++n) {
    const auto chunk = head + static_cast<ChunkId>(step) * n;  // below 0 it wraps to beyond the table
    if (chunk >= chunks.size() || chunks[chunk].object != chunks[head].object) return;
    if (!in_use(chunk)) next_.push_back({chunk, model.gain, model.last - model.first + 1});
  }
}

}  // namespace terrace::strategy
