// See left_out.hpp.
#include "runtime/left_out.hpp"

namespace terrace::runtime {

namespace {

// Each of `total`'s members becomes what `change` makes of it and its like in `other`.
template <class Change>
void change_each(Totals& total, const Totals& other, Change change) {
  for (const auto member :
       {&Totals::accesses, &Totals::instructions, &Totals::misses, &Totals::unseen, &Totals::dropped})
    change(total.*member, other.*member);
  for (const auto member : {&Totals::core, &Totals::exposed, &Totals::bandwidth_bound, &Totals::stalled,
                            &Totals::waited, &Totals::charged})
    change(total.*member, other.*member);
}

}  // namespace

Totals& Totals::operator+=(const Totals& more) {
  change_each(*this, more, [](auto& sum, const auto& one) { sum += one; });
  return *this;
}

Totals& Totals::operator-=(const Totals& less) {
  change_each(*this, less, [](auto& rest, const auto& one) { rest -= one; });
  return *this;
}

void LeftOut::keep_measured(const PhaseTracker& tracker) {
  auto took = so_far();
  took -= before_;
  // Sleeps and Terrace's own work happen again in a phase that is not observed, and are charged then.
  took.charged = {};
  measured_[{tracker.index(), tracker.phase()}] = took;
}

void LeftOut::count(const PhaseTracker& tracker) {
  const auto found = measured_.find({tracker.index(), tracker.phase()});
  if (found == measured_.end()) return;
  const auto& took = found->second;
  parts_.clock->advance_unobserved(took.core + took.exposed + took.bandwidth_bound + took.stalled + took.waited);
  carried_ += took;
}

Totals LeftOut::totals() const {
  auto totals = so_far();
  totals += carried_;
  return totals;
}

}  // namespace terrace::runtime
