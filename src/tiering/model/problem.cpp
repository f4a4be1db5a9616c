// SPDX-License-Identifier: Apache-2.0
// Makes the placement problem from a profile and a machine: chunks become items, iterations are averaged, and
// estimates are fitted to the measured times. The learning strategy in the program and the Python bindings call it
// for every plan.
#include "model/problem.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/error.hpp"
#include "core/segment_name.hpp"
#include "model/costs.hpp"
#include "model/merge.hpp"

namespace terrace::model {
namespace {

// Returns the profiled initiator's path to a place, or the place's own domain's if it has none.
const machine::Path& path_to(const machine::Machine& machine, InitiatorId initiator, PlaceId place) {
  for (const auto& path : machine.parts().paths) {
    if (path.initiator == initiator && path.place == place) return path;
  }
  return machine.path(machine.domains().at(machine.place(place).domain).initiator, place);
}

// Adds the machine's places as the profiled initiator sees them, their budgets, and the copy bandwidths between
// them.
void add_places(Problem& problem, const profile::Profile& profile, const machine::Machine& machine,
                const machine::Budget& budget) {
  const auto n = machine.places().size();
  const auto unasked = machine::whole_budget(machine);
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = static_cast<PlaceId>(i);
    const auto& place = machine.place(id);
    const auto& path = path_to(machine, profile.initiator, id);
    const auto allowed = i < budget.size() ? std::min(budget[i], place.capacity) : unasked[i];
    problem.places.push_back(
        {place.name, place.kind, place.domain, allowed, path.read.value, path.write.value, path.latency.value});
  }
  const auto& copier = machine.copier();
  const auto threads = machine::mover_threads(copier, machine.initiators().at(profile.initiator), profile.cores);
  problem.copier = copier.name;
  problem.touch_waits = copier.trap.has_value();
  problem.copy.assign(n, std::vector<double>(n, 0));
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      // Chunks stay in their domain: other pairs are never copied.
      if (from == to || problem.places[from].domain != problem.places[to].domain) continue;
      problem.copy[from][to] = machine::copy_rate(machine, copier, threads, profile.initiator,
                                                  static_cast<PlaceId>(from), static_cast<PlaceId>(to))
                                   .value;
    }
  }
  for (std::size_t d = 0; d < machine.domains().size(); ++d) {
    problem.homes.push_back(machine.home(static_cast<DomainId>(d)));
    problem.fastest_first.push_back(machine.fastest_first(static_cast<DomainId>(d)));
  }
}

constexpr std::size_t k_quick_cells = 12'000;
constexpr double k_counted_tolerance = 1e-6;  // of a phase's time
constexpr double k_usual_variation =
    0.1;  // of a phase's time: smaller deviations are the same behaviour (Unimem's 10 %)

// Returns the most frequent number of phases of an iteration; of equally frequent ones, the later iteration's.
std::size_t usual_phase_count(const std::vector<observe::Iteration>& iterations) {
  std::map<std::size_t, double> seen;
  std::size_t best = 0;
  for (const auto& iteration : iterations) {
    const auto count = iteration.phases.size();
    if ((seen[count] += iteration.stands_for) >= seen[best]) best = count;
  }
  return best;
}

struct ChunkRef {
  std::uint32_t object = 0;
  std::uint32_t ordinal = 0;
  Bytes size;
  DomainId domain = 0;
  PlaceId place = 0;
};

// Returns, by chunk, whether a profiled iteration references it. Freed objects without references are not placed.
std::vector<bool> referenced(const profile::Profile& profile, std::size_t chunks) {
  std::vector<bool> seen(chunks, false);
  for (const auto& iteration : profile.iterations) {
    for (const auto& phase : iteration.phases) {
      for (const auto& cell : phase.cells) {
        if (cell.chunk < chunks) seen[cell.chunk] = true;
      }
    }
  }
  return seen;
}

// Returns the number of chunk ids that the profile uses.
std::size_t chunk_count(const profile::Profile& profile) {
  std::size_t count = profile.places.size();
  for (const auto& object : profile.objects) {
    count = std::max(count, static_cast<std::size_t>(object.first_chunk) + object.chunks);
  }
  return count;
}

// Returns, by object, whether planners have to place it: it is live, or a profiled iteration references it.
std::vector<bool> to_be_placed(const profile::Profile& profile) {
  const auto seen = referenced(profile, chunk_count(profile));
  std::vector<bool> placed;
  for (const auto& object : profile.objects) {
    bool traced = false;
    for (std::uint32_t i = 0; i < object.chunks; ++i) traced = traced || seen[object.first_chunk + i];
    placed.push_back(object.chunks > 0 && object.size.value > 0 && (object.live || traced));
  }
  return placed;
}

// Adds the objects. Returns their chunks in order of the objects; `item_of` maps a chunk's id to its index in the
// result.
std::vector<ChunkRef> add_objects(Problem& problem, const profile::Profile& profile,
                                  const machine::Machine& machine, std::vector<std::uint32_t>& item_of) {
  const auto placed = to_be_placed(profile);
  item_of.assign(chunk_count(profile), k_no_item);
  const auto own_domain = machine.initiators().at(profile.initiator).domain;
  std::vector<ChunkRef> chunks;
  for (std::size_t o = 0; o < profile.objects.size(); ++o) {
    if (!placed[o]) continue;
    const auto& object = profile.objects[o];
    const auto index = static_cast<std::uint32_t>(problem.objects.size());
    problem.objects.push_back({object.name, object.size, object.chunks});
    for (std::uint32_t i = 0; i < object.chunks; ++i) {
      const auto id = object.first_chunk + i;
      const auto begin = std::min(object.size.value, i * object.chunk_size.value);
      const auto end = i + 1 == object.chunks ? object.size.value
                                              : std::min(object.size.value, (i + 1) * object.chunk_size.value);
      auto place = id < profile.places.size() ? profile.places[id] : k_no_place;
      if (place >= machine.places().size()) place = machine.home(own_domain);
      item_of[id] = static_cast<std::uint32_t>(chunks.size());
      chunks.push_back({index, i, Bytes{end - begin}, machine.place(place).domain, place});
    }
  }
  return chunks;
}

// A phase in one iteration.
struct Instance {
  const observe::Phase* phase;
  double stands_for;  // number of iterations that it represents
};

double weight(const std::vector<Instance>& instances) {
  double sum = 0;
  for (const auto& instance : instances) sum += instance.stands_for;
  return sum;
}

// Returns the weighted median time; the upper one of two.
double median_time(std::vector<Instance> instances) {
  std::sort(instances.begin(), instances.end(),
            [](const Instance& a, const Instance& b) { return a.phase->time < b.phase->time; });
  const auto half = weight(instances) / 2;
  double passed = 0;
  for (const auto& instance : instances)
    if ((passed += instance.stands_for) > half) return instance.phase->time.value;
  return instances.back().phase->time.value;
}

// Returns the instances of a phase with a time near the median: work that a program does once (a norm after the
// last iteration) is not planned for in every iteration. Returns all instances if most differ from each other.
std::vector<Instance> usual_instances(const std::vector<const observe::Iteration*>& iterations, std::size_t k) {
  std::vector<Instance> all;
  all.reserve(iterations.size());
  for (const auto* iteration : iterations) all.push_back({&iteration->phases[k], iteration->stands_for});
  const auto median = median_time(all);
  std::vector<Instance> usual;
  std::copy_if(all.begin(), all.end(), std::back_inserter(usual), [&](const Instance& instance) {
    return std::abs(instance.phase->time.value - median) <= k_usual_variation * median;
  });
  return 2 * weight(usual) > weight(all) ? usual : all;
}

// Adds the phases of the usual iteration: averages over the iterations with the most frequent number of phases.
void add_phases(Problem& problem, const profile::Profile& profile, Bytes line,
                const std::vector<std::uint32_t>& item_of) {
  const auto count = usual_phase_count(profile.iterations);
  std::vector<const observe::Iteration*> iterations;
  for (const auto& iteration : profile.iterations)
    if (iteration.phases.size() == count) iterations.push_back(&iteration);
  const auto line_bytes = static_cast<double>(line.value);
  for (std::size_t k = 0; k < count; ++k) {
    const auto instances = usual_instances(iterations, k);
    const auto all = weight(instances);
    auto& to = problem.phases.emplace_back();
    to.name = instances.back().phase->name;
    std::size_t cells = 0;
    for (const auto& instance : instances) cells += instance.phase->cells.size();
    to.cells.reserve(cells);
    for (const auto& [from, stands_for] : instances) {
      const auto share = stands_for / all;
      to.core += share * from->core;
      to.measured += share * from->time;
      to.samples += share * from->samples;
      to.samples_variance += share * share * from->samples;
      to.unowned_bytes += share * from->unowned_lines * line_bytes;
      to.samples_with_access += share * from->samples_with_access;
      for (const auto& cell : from->cells) {
        if (cell.chunk >= item_of.size() || item_of[cell.chunk] == k_no_item) continue;
        const auto scale = share * line_bytes;
        to.cells.push_back({item_of[cell.chunk], scale * cell.read_lines, scale * cell.write_lines,
                            share * cell.exposure, share * cell.samples,
                            profile.exact ? 0 : share * share * cell.samples, scale * scale * cell.line_squares,
                            scale * cell.streamed_lines, share * cell.streamed_exposure});
      }
    }
    sum_cells_of_an_item(to.cells);
  }
}

// Returns whether samples add up to the phases' times exactly: progress was counted, not sampled at random
// intervals.
bool is_counted(const profile::Profile& profile) {
  if (profile.exact || profile.sample_interval.value <= 0) return false;
  bool any = false;
  for (const auto& iteration : profile.iterations) {
    for (const auto& phase : iteration.phases) {
      const auto counted = phase.samples * profile.sample_interval.value;
      if (std::abs(counted - phase.time.value) > k_counted_tolerance * phase.time.value) return false;
      any = any || phase.samples > 0;
    }
  }
  return any;
}

}  // namespace

// Estimates above the phase's measured time are wrong: each such term is scaled down to it. Time that the law does
// not explain (its maximum over a whole phase is below the sum of its parts' maxima) stays a constant: the model
// neither gains nor loses it.
void fit_to_measured(Problem& problem) {
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    auto& phase = problem.phases[k];
    const auto measured = phase.measured.value;
    if (measured <= 0) continue;
    const auto law = phase_time(problem, k, problem.measured_at);
    if (!problem.exact) {
      const auto stalled = law.core + law.exposed;
      const auto latency_scale = stalled > measured ? measured / stalled : 1;
      const auto bytes_scale = law.bandwidth > measured ? measured / law.bandwidth : 1;
      phase.core = phase.core * latency_scale;
      phase.latency_scale = latency_scale;
      phase.bytes_scale = bytes_scale;
      for (auto& cell : phase.cells) {
        cell.exposure *= latency_scale;
        cell.streamed_exposure *= latency_scale;
        cell.read_bytes *= bytes_scale;
        cell.streamed_bytes *= bytes_scale;
        cell.write_bytes *= bytes_scale;
        cell.bytes_variance *= bytes_scale * bytes_scale;
      }
    }
    const auto explained = phase_time(problem, k, problem.measured_at).total;
    phase.unexplained = Seconds{std::max(0.0, measured - explained)};
  }
}

double move_time(const Problem& problem, std::uint32_t item, PlaceId from, PlaceId to) {
  if (from == to) return 0;
  const auto& moved = problem.items[item];
  return moved.remapping + static_cast<double>(moved.size.value) / problem.copy[from][to];
}

double move_cost(const Problem& problem, std::uint32_t item) {
  const auto& moved = problem.items[item];
  return problem.asking * moved.chunks + moved.stall;
}

void drop_unreached_segments(Problem& problem) {
  std::erase_if(problem.phases, [](const ProblemPhase& phase) {
    return phase.measured.value == 0 && phase.cells.empty() && segment_offset(phase.name) != 0;
  });
}

profile::Profile single_iteration(const profile::Profile& profile, std::size_t iteration) {
  const auto placed = to_be_placed(profile);
  // Copies fields one by one: the other iterations are most of a profile.
  profile::Profile one{.exact = profile.exact,
                       .loop = profile.loop,
                       .sample_interval = profile.sample_interval,
                       .initiator = profile.initiator,
                       .cores = profile.cores,
                       .objects = profile.objects,
                       .iterations = {profile.iterations.at(iteration)},
                       .places = profile.places,
                       .moving = profile.moving,
                       .progress = profile.progress,
                       .unseen = profile.unseen};
  for (std::size_t o = 0; o < placed.size(); ++o) one.objects[o].live = placed[o];
  return one;
}

std::size_t affordable_items(const profile::Profile& profile) {
  std::size_t chunks = 0, cells = 0;
  for (const auto& object : profile.objects) chunks += object.chunks;
  for (const auto& iteration : profile.iterations)
    for (const auto& phase : iteration.phases) cells += phase.cells.size();
  cells /= std::max<std::size_t>(profile.iterations.size(), 1);
  if (cells <= k_quick_cells) return std::max<std::size_t>(chunks, 1);
  const auto kept = static_cast<double>(chunks) * k_quick_cells / static_cast<double>(cells);
  return std::max(static_cast<std::size_t>(kept), profile.objects.size());
}

Problem make_problem(const profile::Profile& profile, const machine::Machine& machine,
                     const machine::Budget& budget, std::size_t max_items, const Directives& directives) {
  if (profile.iterations.empty() || usual_phase_count(profile.iterations) == 0) {
    throw Error(Code::invalid, "the profile of loop '" + profile.loop +
                                   "' has no iteration with a phase; record at least one iteration of it");
  }
  Problem problem;
  problem.machine = machine.name();
  problem.loop = profile.loop;
  problem.progress = profile.progress;
  problem.cores = profile.cores;
  problem.exact = profile.exact;
  problem.counted = is_counted(profile);
  problem.asking = k_move_cost.value;
  add_places(problem, profile, machine, budget);
  std::vector<std::uint32_t> item_of;
  for (const auto& chunk : add_objects(problem, profile, machine, item_of)) {
    problem.items.push_back({chunk.size, chunk.domain, chunk.object, chunk.ordinal, 1, k_no_place,
                             machine::remapping_time(machine.copier(), chunk.size).value,
                             machine::stall_time(machine.copier(), chunk.size).value});
    problem.measured_at.push_back(chunk.place);
  }
  add_phases(problem, profile, machine.parts().line, item_of);
  exclude_unused(problem, directives);
  merge_neighbours(problem, max_items);
  // Measured times constrain the estimates only if the placement was constant during the profile.
  problem.held = !profile.moving;
  if (problem.held) fit_to_measured(problem);
  const auto line = static_cast<double>(machine.parts().line.value);
  add_declared_uses(
      problem, directives,
      machine::prefetched_exposure(machine.initiators().at(profile.initiator), profile.cores) / line);
  return problem;
}

std::vector<std::uint32_t> items_by_chunk(const profile::Profile& profile, const Problem& problem) {
  const auto placed = to_be_placed(profile);
  std::vector<ChunkId> first_chunks;  // by object of the problem
  for (std::size_t o = 0; o < placed.size(); ++o)
    if (placed[o]) first_chunks.push_back(profile.objects[o].first_chunk);
  std::vector<std::uint32_t> items(chunk_count(profile), k_no_item);
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    const auto first = first_chunks.at(item.object) + item.ordinal;
    for (std::uint32_t chunk = 0; chunk < item.chunks; ++chunk) items.at(first + chunk) = i;
  }
  return items;
}

}  // namespace terrace::model
