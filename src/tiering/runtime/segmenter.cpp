// SPDX-License-Identifier: Apache-2.0
// Cuts phases into segments by progress, and merges short segments. Called by Profiling. See segmenter.hpp.
#include "runtime/segmenter.hpp"

namespace terrace::runtime {

void Segmenter::begin_phase(PhaseIndex index) {
  if (known_.size() <= index) known_.resize(index + 1);
  phase_ = &known_[index];
  current_.assign(1, 0);
  times_.clear();
}

// Ends a segment at a known cut, or, in the first instance of a phase, at each report.
Segmenter::Cut Segmenter::on_progress(std::uint64_t progress, Seconds time) {
  if (phase_->complete) {
    const auto next = current_.size();
    if (next == phase_->offsets.size() || progress < phase_->offsets[next]) return {};
    current_.push_back(phase_->offsets[next]);
    return {true, current_.size() - 1, {}};
  }
  current_.push_back(progress);
  times_.push_back(time);
  Cut cut{true, times_.size(), {}};
  if (times_.size() <= k_max_segments) return cut;
  const auto together = [&](std::size_t i) { return times_[i] + times_[i + 1]; };
  std::size_t least = 0;
  for (std::size_t i = 1; i + 1 < times_.size(); ++i)
    if (together(i) < together(least)) least = i;
  times_[least] = together(least);
  times_.erase(times_.begin() + static_cast<std::ptrdiff_t>(least) + 1);
  current_.erase(current_.begin() + static_cast<std::ptrdiff_t>(least) + 1);
  cut.merge = least;
  return cut;
}

std::vector<std::uint64_t> Segmenter::end_phase() {
  std::vector<std::uint64_t> missed;
  if (phase_->complete) {
    missed.assign(phase_->offsets.begin() + static_cast<std::ptrdiff_t>(current_.size()), phase_->offsets.end());
  } else {
    phase_->offsets = current_;
    phase_->complete = true;
  }
  return missed;
}

}  // namespace terrace::runtime
