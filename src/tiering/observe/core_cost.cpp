// SPDX-License-Identifier: Apache-2.0
// Computes the core time C and the exposed latencies of an initiator (a set of cores), for the simulator's time
// law and the collectors. See core_cost.hpp.
#include "observe/core_cost.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace terrace::observe {

CoreCost::CoreCost(const machine::Machine& machine, InitiatorId initiator, double cores) : cores_(cores) {
  if (initiator >= machine.initiators().size()) {
    throw Error(Code::not_found, "machine '" + machine.name() + "' has no initiator (set of cores) number " +
                                     std::to_string(initiator) + "; its file defines " +
                                     std::to_string(machine.initiators().size()) + ", numbered from 0");
  }
  if (!std::isfinite(cores) || cores <= 0) {
    throw Error(Code::invalid,
                "a program thread cannot stand for " + std::to_string(cores) + " cores; --cores must be above 0");
  }
  const auto& of = machine.initiators()[initiator];
  set_instruction_time(of.instruction_time);
  const auto levels = std::min(of.caches.size(), hit_.size());
  for (std::size_t level = 1; level < levels; ++level)
    hit_[level] = (of.caches[level].overlapped.value > 0 ? of.caches[level].overlapped.value
                                                         : of.caches[level].latency.value / of.mlp) /
                  cores;
  walk_ = of.tlb.walk.value / cores;
  const auto library = machine::library_times(of);
  std::transform(library.begin(), library.end(), call_.begin(), [&](Seconds time) { return time.value / cores; });
  prefetched_ = machine::prefetched_exposure(of, cores);
  independent_ = 1 / of.mlp / cores;
  weight_ = 1.0 / 255 / cores;
}

Seconds CoreCost::core_time(const Quantum& quantum) const {
  double time = static_cast<double>(quantum.instructions) * instruction_;
  for (std::size_t level = 1; level < hit_.size(); ++level)
    time += static_cast<double>(quantum.hits[level]) * hit_[level];
  time += static_cast<double>(quantum.walks) * walk_;
  for (const auto& calls : quantum.calls) time += static_cast<double>(calls.count) * call_[calls.function];
  return {time};
}

}  // namespace terrace::observe
