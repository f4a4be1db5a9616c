// See judge.hpp.
#include "strategy/proof/judge.hpp"

#include <algorithm>

namespace terrace::strategy {

void IterationTimes::add(Seconds time) {
  if (times_.size() < k_kept)
    times_.push_back(time);
  else
    times_[count_ % k_kept] = time;
  ++count_;
  total_ += time;
}

Seconds IterationTimes::median() const {
  if (times_.empty()) return {};
  auto sorted = times_;
  std::ranges::sort(sorted);
  const auto half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

Seconds IterationTimes::least() const { return times_.empty() ? Seconds{} : *std::ranges::min_element(times_); }

Seconds IterationTimes::most() const { return times_.empty() ? Seconds{} : *std::ranges::max_element(times_); }

bool takes_longer(const IterationTimes& first, const IterationTimes& second) {
  return first.count() > 0 && second.count() > 0 && second.least() > first.most() &&
         second.median() > (1 + k_noise) * first.median();
}

double gain(Seconds before, Seconds after) { return before.value > 0 && after.value > 0 ? 1 - after / before : 0; }

}  // namespace terrace::strategy
