#include "runtime/segmenter.hpp"

namespace terrace::runtime {

void Segmenter::begin_phase(profile::PhaseIndex index) {
  if (known_.size() <= index) known_.resize(index + 1);
  phase_ = &known_[index];
  current_.assign(1, 0);
  length_ = 1;  // a quantum, whatever its length
}

Segmenter::Cut Segmenter::progressed(std::uint64_t progress) {
  if (phase_->complete) {
    const auto next = current_.size();
    if (next == phase_->offsets.size() || progress < phase_->offsets[next]) return Cut::none;
    current_.push_back(phase_->offsets[next]);
    return Cut::segment;
  }
  if (length_ == 1) length_ = progress;
  if (progress - current_.back() < length_) return Cut::none;
  current_.push_back(progress);
  if (current_.size() <= k_most_segments) return Cut::segment;
  // The closed ones, k_most_segments of them, become half as many; the new one begins where they end.
  std::vector<std::uint64_t> halved;
  for (std::size_t i = 0; i < k_most_segments; i += 2) halved.push_back(current_[i]);
  halved.push_back(progress);
  current_ = std::move(halved);
  length_ *= 2;
  return Cut::merge;
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
