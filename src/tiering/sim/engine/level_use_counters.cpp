// SPDX-License-Identifier: Apache-2.0
// Accumulates the counters from which VirtualMachine reports C-AMAT of each cache level and memory, quantum by
// quantum (a batch of one thread's accesses). See level_use_counters.hpp.
#include "sim/engine/level_use_counters.hpp"

#include <algorithm>

namespace terrace::sim {

void LevelUseCounters::begin_quantum(const observe::Quantum& quantum, std::uint64_t misses) {
  for (std::size_t level = 0; level < hits_.size(); ++level) hits_[level] += quantum.hits[level];
  misses_ += misses;
}

void LevelUseCounters::add_progress(const TimeLaw& law, const TimeLaw::Traffic& by_place, const Demand& demand,
                                    double progress) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const auto& traffic = by_place[i];
    lines_[i] += progress * static_cast<double>(traffic.read() + traffic.written);
    active_[i] += progress * std::max(law.exposed(traffic, static_cast<PlaceId>(i)), demand.busy[i]);
  }
}

std::vector<profile::LevelUse> LevelUseCounters::levels(const machine::Machine& machine, InitiatorId initiator,
                                                        const TimeLaw& law, Seconds held_up) const {
  std::vector<profile::LevelUse> levels;
  const auto caches = std::min(machine.initiators()[initiator].caches.size(), hits_.size());
  auto reach = misses_;
  auto behind = held_up;
  for (auto level = caches; level-- > 1;) {
    reach += hits_[level];
    const auto hits = law.cost().hit_time(level) * static_cast<double>(hits_[level]);
    levels.push_back(
        {machine.initiators()[initiator].caches[level].name, static_cast<double>(reach), hits, behind});
    behind += hits;
  }
  std::reverse(levels.begin(), levels.end());
  for (std::size_t i = 0; i < lines_.size(); ++i)
    levels.push_back({machine.places()[i].name, lines_[i], Seconds{active_[i]}, Seconds{}});
  return levels;
}

}  // namespace terrace::sim
