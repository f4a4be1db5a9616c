// SPDX-License-Identifier: Apache-2.0
// Computes medians of iteration times, and judges whether iterations under a plan take longer beyond noise, for
// ValidatedStrategy. See judge.hpp.
#include "strategy/proof/judge.hpp"

#include <algorithm>

namespace terrace::strategy {

namespace {

constexpr double k_busy = 0.5;  // a thread with a smaller share of processor time mostly waits

Seconds median_of(std::vector<Seconds> times) {
  if (times.empty()) return {};
  std::ranges::sort(times);
  const auto half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

}  // namespace

void IterationTimes::add(Seconds time, Seconds work) {
  if (times_.size() < k_max_kept) {
    times_.push_back(time);
    works_.push_back(work);
  } else {
    times_[count_ % k_max_kept] = time;
    works_[count_ % k_max_kept] = work;
  }
  ++count_;
  total_ += time;
}

Seconds IterationTimes::median() const { return median_of(times_); }

Seconds IterationTimes::median_work() const { return median_of(works_); }

Seconds IterationTimes::min() const { return times_.empty() ? Seconds{} : *std::ranges::min_element(times_); }

Seconds IterationTimes::max() const { return times_.empty() ? Seconds{} : *std::ranges::max_element(times_); }

// Returns `count` kept times from `first` on, counted from the oldest.
IterationTimes IterationTimes::part(std::size_t first, std::size_t count) const {
  IterationTimes some;
  const auto oldest = times_.size() < k_max_kept ? 0 : count_ % k_max_kept;
  for (auto i = first; i < first + count; ++i) {
    const auto at = (oldest + i) % times_.size();
    some.add(times_[at], works_[at]);
  }
  return some;
}

IterationTimes IterationTimes::last(std::size_t count) const {
  const auto some = std::min(count, times_.size());
  return part(times_.size() - some, some);
}

bool IterationTimes::is_steady() const {
  const auto half = times_.size() / 2;
  const auto first = part(0, half), second = part(times_.size() - half, half);
  return !takes_longer(first, second) && !takes_longer(second, first);
}

IterationTimes IterationTimes::scaled(double factor) const {
  IterationTimes all;
  for (std::size_t i = 0; i < times_.size(); ++i) all.add(factor * times_[i], works_[i]);
  return all;
}

double IterationTimes::num_longer(const IterationTimes& others) const {
  double pairs = 0;
  for (const auto one : times_)
    for (const auto other : others.times_) pairs += one > other ? 1 : one == other ? 0.5 : 0;
  return pairs;
}

bool is_beyond_noise(const IterationTimes& first, const IterationTimes& second) {
  constexpr double k_deviations = 1.96;  // of the normal distribution, within which 95 % are
  const auto m = static_cast<double>(first.num_kept()), n = static_cast<double>(second.num_kept());
  const auto expected = m * n / 2;
  const auto variance = m * n * (m + n + 1) / 12;
  const auto difference = first.num_longer(second) - expected;
  // std::sqrt() would need libm.
  return expected > 0 &&
         difference * difference >= std::min(k_deviations * k_deviations * variance, expected * expected);
}

bool takes_longer(const IterationTimes& first, const IterationTimes& second) {
  return first.count() > 0 && second.count() > 0 && second.min() > first.max() &&
         second.median() > (1 + k_noise) * first.median();
}

Seconds placed_time(const IterationTimes& first, const IterationTimes& second) {
  const auto before = first.median(), after = second.median();
  const auto had = first.median_work(), has = second.median_work();
  if (had.value <= 0 || before.value <= 0 || has < after * k_busy) return after;
  return std::max(after, std::min(before * (has / had), before));
}

double gain(Seconds before, Seconds after) { return before.value > 0 && after.value > 0 ? 1 - after / before : 0; }

}  // namespace terrace::strategy
