// SPDX-License-Identifier: Apache-2.0
// Detects a main loop of time intervals, by comparing which data successive intervals used. Called by the agent's
// page monitor. See interval_phases.hpp.
#include "runtime/interval_phases.hpp"

#include <algorithm>

namespace terrace::runtime {

namespace {

constexpr const char* k_interval = "(interval)";

double sum(const IntervalPhases::Interval& interval) {
  double bytes = 0;
  for (const auto& [name, used] : interval.used) bytes += used;
  return bytes;
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100 + 0.5)) + " %"; }

}  // namespace

// Adds up, over all data, the smaller of the two shares.
double IntervalPhases::similarity(const Interval& one, const Interval& other) {
  const auto of_one = sum(one);
  const auto of_other = sum(other);
  if (of_one <= 0 || of_other <= 0) return 0;
  double common = 0;
  for (const auto& [name, used] : one.used)
    if (const auto found = other.used.find(name); found != other.used.end())
      common += std::min(used / of_one, found->second / of_other);
  return common;
}

PhaseBoundary IntervalPhases::on_interval_end(const Interval& interval) {
  PhaseBoundary boundary;
  if (!in_loop_) ++intervals_;
  if (sum(interval) <= 0) {
    if (in_loop_) boundary.phase = k_interval;
    return boundary;
  }
  if (in_loop_) {
    num_deviating_ = similarity(interval, typical_) < k_other_data ? num_deviating_ + 1 : 0;
    if (num_deviating_ < k_max_deviating) {
      boundary.phase = k_interval;
      return boundary;
    }
    boundary.ends_loop = true;
    in_loop_ = false;
    intervals_ = 0;
    previous_ = interval;
    return boundary;
  }
  const auto alike = previous_ ? similarity(*previous_, interval) : 0;
  if (alike < k_min_similarity) {
    previous_ = interval;
    return boundary;
  }
  typical_ = interval;
  for (const auto& [name, used] : previous_->used) typical_.used[name] += used;
  previous_.reset();
  in_loop_ = true;
  num_deviating_ = 0;
  boundary.begins_loop = k_intervals_loop;
  boundary.why =
      "calls and loops are not visible; two successive intervals used the same data to " + percent(alike);
  boundary.iterations_before = intervals_;
  boundary.by_time = true;
  boundary.phase = k_interval;
  return boundary;
}

}  // namespace terrace::runtime
