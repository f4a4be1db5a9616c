// SPDX-License-Identifier: Apache-2.0
// Chooses phases by the mean duration of MPI calls and of the computation after them. See mpi_phase_choice.hpp.
#include "runtime/mpi/mpi_phase_choice.hpp"

#include <algorithm>

namespace terrace::runtime {

namespace {

// A possible phase: the calls of a path, or the computation after them.
struct Candidate {
  CallPath path = 0;
  bool is_computation = false;
  double visits = 0;
  Seconds total;
  [[nodiscard]] Seconds mean() const { return total / visits; }
};

}  // namespace

std::unordered_map<CallPath, MpiPhaseBoundaries> choose_mpi_phases(std::span<const MpiIteration> iterations) {
  std::unordered_map<CallPath, std::pair<Candidate, Candidate>> by_path;  // the calls, the computation
  Seconds all;
  for (const auto& [events, end] : iterations) {
    if (events.empty()) continue;
    all += end - events.front().begin;
    const MpiCallEvent* last = nullptr;  // that ended a phase
    const auto end_computation = [&](Seconds at) {
      if (!last) return;
      auto& one = by_path[last->path].second;
      one.visits += 1;
      one.total += at - last->end;
    };
    for (const auto& event : events) {
      if (!event.ends_phase) continue;
      end_computation(event.begin);
      auto& one = by_path[event.path].first;
      one.visits += 1;
      one.total += event.end - event.begin;
      last = &event;
    }
    end_computation(end);
  }
  std::vector<Candidate> candidates;
  const auto num_iterations = static_cast<double>(std::max<std::size_t>(iterations.size(), 1));
  const auto least = std::max(k_min_mpi_phase, k_min_mpi_phase_share * (all / num_iterations));
  for (auto& [path, both] : by_path) {
    both.second.is_computation = true;
    for (auto* one : {&both.first, &both.second}) {
      one->path = path;
      if (one->visits > 0 && one->mean() >= least) candidates.push_back(*one);
    }
  }
  // The longest phases, as many as an iteration may have.
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.mean() != b.mean()) return a.mean() > b.mean();
    return a.path != b.path ? a.path < b.path : a.is_computation < b.is_computation;
  });
  std::unordered_map<CallPath, MpiPhaseBoundaries> chosen;
  double phases = 1;
  for (const auto& one : candidates) {
    phases += one.visits / num_iterations;
    if (phases > static_cast<double>(k_max_mpi_phases)) break;
    auto& at = chosen[one.path];
    (one.is_computation ? at.at_end : at.at_begin) = true;
  }
  return chosen;
}

}  // namespace terrace::runtime
