// SPDX-License-Identifier: Apache-2.0
// Estimates the counters and time of unobserved phases from their last observed instance. Called by Configuration.
// See skipped_iteration_estimate.hpp.
#include "runtime/skipped_iteration_estimate.hpp"

namespace terrace::runtime {

namespace {

// Calls change(member of `total`, same member of `other`) for each member.
template <class Change>
void change_each(CounterTotals& total, const CounterTotals& other, Change change) {
  for (const auto member : {&CounterTotals::accesses, &CounterTotals::instructions, &CounterTotals::misses,
                            &CounterTotals::unseen, &CounterTotals::dropped})
    change(total.*member, other.*member);
  for (const auto member : {&CounterTotals::core, &CounterTotals::exposed, &CounterTotals::bandwidth_bound,
                            &CounterTotals::stalled, &CounterTotals::waited, &CounterTotals::charged})
    change(total.*member, other.*member);
}

}  // namespace

CounterTotals& CounterTotals::operator+=(const CounterTotals& more) {
  change_each(*this, more, [](auto& sum, const auto& one) { sum += one; });
  return *this;
}

CounterTotals& CounterTotals::operator-=(const CounterTotals& less) {
  change_each(*this, less, [](auto& rest, const auto& one) { rest -= one; });
  return *this;
}

void SkippedIterationEstimate::end_observed_phase(const PhaseTracker& tracker) {
  auto took = so_far();
  took -= before_;
  // Sleeps and Terrace's own work are charged in skipped phases too, when they happen.
  took.charged = {};
  measured_[{tracker.index(), tracker.phase()}] = took;
}

void SkippedIterationEstimate::add_skipped_phase(const PhaseTracker& tracker) {
  const auto found = measured_.find({tracker.index(), tracker.phase()});
  if (found == measured_.end()) return;
  const auto& took = found->second;
  parts_.clock->advance_unobserved(took.core + took.exposed + took.bandwidth_bound + took.stalled + took.waited);
  skipped_ += took;
}

CounterTotals SkippedIterationEstimate::totals() const {
  auto totals = so_far();
  totals += skipped_;
  return totals;
}

}  // namespace terrace::runtime
