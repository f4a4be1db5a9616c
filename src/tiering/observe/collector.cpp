// SPDX-License-Identifier: Apache-2.0
// Tracks the phases and iterations of a collector, which the runtime begins and ends. See collector.hpp.
#include "observe/collector.hpp"

#include <algorithm>
#include <utility>

namespace terrace::observe {

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

void Collector::merge(std::size_t from_end) {
  auto& phases = iteration_.phases;
  if (from_end == 0 || from_end >= phases.size()) return;
  const auto first = phases.end() - 1 - static_cast<std::ptrdiff_t>(from_end);
  add(*first, *(first + 1));
  phases.erase(first + 1);
}

Iteration Collector::take_iteration() {
  complete_iteration(iteration_);
  return std::exchange(iteration_, {});
}

}  // namespace terrace::observe
