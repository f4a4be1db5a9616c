// SPDX-License-Identifier: Apache-2.0
// Computes gain curves by filling a place with items in order of their gain per byte. RankGroup publishes them.
// See gain_curve.hpp.
#include "strategy/ranks/gain_curve.hpp"

#include <algorithm>
#include <string_view>

#include "core/segment_name.hpp"
#include "model/loads.hpp"

namespace terrace::strategy {

namespace {

// FNV-1a, 64 bits; a separator follows each name.
std::uint64_t add_to_hash(std::uint64_t hash, std::string_view name) {
  for (const unsigned char letter : name) hash = (hash ^ letter) * 0x100000001b3;
  return (hash ^ 0xffU) * 0x100000001b3;
}

// Returns, by phase of the problem, the phase of the program: segments belong to the phase before them.
std::vector<std::size_t> phases_of_segments(const model::Problem& problem) {
  std::vector<std::size_t> phases;
  std::size_t count = 0;
  for (const auto& phase : problem.phases) {
    if (segment_offset(phase.name) == 0 || count == 0) ++count;
    phases.push_back(count - 1);
  }
  return phases;
}

struct Candidate {
  std::uint32_t item;
  double gain_per_byte;
};

// Returns the items that gain in the place, the best per byte first.
std::vector<Candidate> candidates(const model::Problem& problem, const model::Uses& uses,
                                  const std::vector<model::PhaseLoad>& loads, const model::Placement& at_home,
                                  PlaceId place) {
  std::vector<Candidate> found;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    if (item.pinned != k_no_place || item.domain != problem.places[place].domain || item.size.value == 0) continue;
    double gain = 0;
    for (const auto& use : uses[i])
      gain += loads[use.phase].time() - loads[use.phase].time_if_moved(*use.cell, at_home[i], place);
    if (gain > 0) found.push_back({i, gain / static_cast<double>(item.size.value)});
  }
  std::ranges::stable_sort(
      found, [](const Candidate& a, const Candidate& b) { return a.gain_per_byte > b.gain_per_byte; });
  return found;
}

}  // namespace

double GainCurve::iteration_time(std::size_t step) const {
  double sum = 0;
  for (std::size_t phase = 0; phase < num_phases; ++phase) sum += double{time[step][phase]};
  return sum;
}

GainCurve gain_curve(const model::Problem& problem, PlaceId place, Bytes budget, std::span<const Seconds> in_mpi) {
  GainCurve curve;
  auto phase_of = phases_of_segments(problem);
  const auto count = phase_of.empty() ? 0 : phase_of.back() + 1;
  curve.phase_names = 0xcbf29ce484222325;
  for (std::size_t k = 0; k < problem.phases.size(); ++k)
    if (k == 0 || phase_of[k] != phase_of[k - 1])
      curve.phase_names = add_to_hash(curve.phase_names, phase_of_segment(problem.phases[k].name));
  std::vector<double> computing(count);
  for (std::size_t k = 0; k < problem.phases.size(); ++k)
    computing[phase_of[k]] += problem.phases[k].measured.value;
  if (in_mpi.size() == count)
    for (std::size_t phase = 0; phase < count; ++phase)
      computing[phase] = std::max(0.0, computing[phase] - in_mpi[phase].value);
  if (count > GainCurve::k_max_phases) {
    for (std::size_t phase = 1; phase < count; ++phase) computing[0] += computing[phase];
    std::ranges::fill(phase_of, std::size_t{0});
    curve.phase_names = 0;
  }
  curve.num_phases = static_cast<std::uint32_t>(std::min(count, count > GainCurve::k_max_phases ? 1 : count));

  model::Placement placement;
  for (const auto& item : problem.items)
    placement.push_back(item.pinned != k_no_place ? item.pinned : model::home_of(problem, item.domain));
  std::vector<model::PhaseLoad> loads;
  std::vector<double> constant(curve.num_phases);  // time besides the law's, by phase
  for (std::uint32_t phase = 0; phase < curve.num_phases; ++phase) constant[phase] = computing[phase];
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    loads.push_back(model::load_of(problem, k, placement));
    constant[phase_of[k]] -= model::load_of(problem, k, problem.measured_at).time();
  }
  const auto write_step = [&](std::uint64_t bytes) {
    std::vector<double> time = constant;
    for (std::size_t k = 0; k < loads.size(); ++k) time[phase_of[k]] += loads[k].time();
    curve.bytes[curve.num_steps] = bytes;
    for (std::uint32_t phase = 0; phase < curve.num_phases; ++phase)
      curve.time[curve.num_steps][phase] = static_cast<float>(std::max(0.0, time[phase]));
  };
  write_step(0);

  const auto uses = model::uses_by_item(problem);
  const auto order = candidates(problem, uses, loads, placement, place);
  std::uint64_t all = 0;
  for (const auto& candidate : order) all += problem.items[candidate.item].size.value;
  const auto limit = std::min(all, budget.value);
  std::uint64_t filled = 0;
  for (const auto& candidate : order) {
    const auto item = candidate.item;
    const auto size = problem.items[item].size.value;
    if (filled + size > limit) continue;
    for (const auto& use : uses[item]) {
      loads[use.phase].take(*use.cell, placement[item]);
      loads[use.phase].put(*use.cell, place);
    }
    filled += size;
    if (filled * GainCurve::k_max_steps < (curve.num_steps + 1) * limit) continue;
    ++curve.num_steps;
    write_step(filled);
    if (curve.num_steps == GainCurve::k_max_steps) return curve;
  }
  if (filled > curve.bytes[curve.num_steps]) {
    ++curve.num_steps;
    write_step(filled);
  }
  return curve;
}

}  // namespace terrace::strategy
