// Phases and iterations of a collector. See collector.hpp.
#include "profile/collector.hpp"

#include <algorithm>
#include <utility>

namespace terrace::profile {

void Collector::begin_iteration(std::uint32_t number) {
  iteration_ = {number, {}};
  in_phase_ = false;
  Phase dropped;
  finish(dropped);
}

void Collector::begin_phase(std::string_view name) {
  iteration_.phases.emplace_back().name = name;
  in_phase_ = true;
}

void Collector::end_phase(Seconds time) {
  if (!in_phase_) return;
  in_phase_ = false;
  auto& phase = iteration_.phases.back();
  phase.time = time;
  finish(phase);
  std::sort(phase.cells.begin(), phase.cells.end(),
            [](const Cell& a, const Cell& b) { return a.chunk < b.chunk; });
}

Iteration Collector::take_iteration() { return std::exchange(iteration_, {}); }

}  // namespace terrace::profile
