// Random placement problems and schedules; with `small`, small enough for brute force.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "model/problem.hpp"

namespace terrace::model::testing {

struct Shape {
  std::size_t kinds = 2;
  std::size_t domains = 1;
  std::size_t objects = 4;
  std::size_t phases = 4;
  std::uint32_t most_chunks = 3;
  double touched = 0.6;     // share of (item, phase) pairs with traffic
  double fast_share = 0.4;  // of the footprint, each bounded kind
  bool priced = false;      // moves have fixed costs
};

inline double uniform(std::mt19937& random, double low, double high) {
  return std::uniform_real_distribution<>(low, high)(random);
}

// Places of a domain: each kind slower than the one before it; the last is home and holds everything.
inline Problem random_problem(std::mt19937& random, const Shape& shape) {
  Problem problem;
  problem.machine = "random";
  problem.loop = "loop";
  const char* kinds[] = {"hbm", "ddr", "cxl", "nvm"};
  for (std::size_t d = 0; d < shape.domains; ++d) {
    double bandwidth = uniform(random, 8e9, 32e9), latency = uniform(random, 50e-9, 150e-9);
    for (std::size_t p = 0; p < shape.kinds; ++p) {
      problem.places.push_back({std::string(kinds[p]) + std::to_string(d), kinds[p], static_cast<DomainId>(d),
                                Bytes{0}, bandwidth, bandwidth * uniform(random, 0.5, 1), latency});
      // Slower in bandwidth, in latency, or in both, as Unimem's emulated memories.
      const auto how = random() % 3;
      if (how != 1) bandwidth *= uniform(random, 0.3, 0.6);
      if (how != 0) latency *= uniform(random, 2, 4);
    }
    problem.homes.push_back(static_cast<PlaceId>(problem.places.size() - 1));
    auto& order = problem.fastest_first.emplace_back(shape.kinds);
    std::iota(order.begin(), order.end(), static_cast<PlaceId>(problem.places.size() - shape.kinds));
  }
  const auto places = problem.places.size();
  problem.copy.assign(places, std::vector<double>(places, 0));
  for (std::size_t a = 0; a < places; ++a) {
    for (std::size_t b = 0; b < places; ++b) {
      if (a == b || problem.places[a].domain != problem.places[b].domain) continue;
      problem.copy[a][b] =
          uniform(random, 0.4, 1) * std::min(problem.places[a].read_bandwidth, problem.places[b].write_bandwidth);
    }
  }
  std::vector<std::uint64_t> footprint(shape.domains, 0);
  for (std::size_t o = 0; o < shape.objects; ++o) {
    const auto chunks = 1 + static_cast<std::uint32_t>(random()) % shape.most_chunks;
    const std::uint64_t chunk = (1 + random() % 16) * 65536;
    const auto domain = static_cast<DomainId>(random() % shape.domains);
    problem.objects.push_back({"object" + std::to_string(o), Bytes{chunk * chunks}, chunks});
    for (std::uint32_t c = 0; c < chunks; ++c) {
      problem.items.push_back({Bytes{chunk}, domain, static_cast<std::uint32_t>(o), c, 1, k_no_place});
      problem.measured_at.push_back(problem.homes[domain]);
      footprint[domain] += chunk;
    }
  }
  for (auto& place : problem.places) {
    const auto index = static_cast<PlaceId>(&place - problem.places.data());
    const auto whole = footprint[place.domain];
    place.budget = index == problem.homes[place.domain]
                       ? Bytes{whole + 1}
                       : Bytes{static_cast<std::uint64_t>(shape.fast_share * uniform(random, 0.5, 1.5) *
                                                          static_cast<double>(whole))};
  }
  for (std::size_t k = 0; k < shape.phases; ++k) {
    ProblemPhase phase;
    phase.name = "phase" + std::to_string(k);
    const bool stalls = random() % 2 == 0;
    double bytes = 0;
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      if (uniform(random, 0, 1) > shape.touched) continue;
      const auto size = static_cast<double>(problem.items[i].size.value);
      ItemCell cell{i, size * uniform(random, 0.2, 3), size * uniform(random, 0, 1), 0, uniform(random, 1, 100)};
      cell.exposure = cell.read_bytes / 64 * (stalls ? uniform(random, 0.1, 1) : uniform(random, 0.02, 0.1));
      bytes += cell.read_bytes;
      phase.cells.push_back(cell);
    }
    phase.core = Seconds{bytes / 16e9 * uniform(random, 0.1, 1)};
    phase.samples = 1000;
    phase.samples_with_access = 800;
    problem.phases.push_back(phase);
  }
  for (std::size_t k = 0; k < shape.phases; ++k) {
    problem.phases[k].measured = Seconds{phase_time(problem, k, problem.measured_at).total};
  }
  if (shape.priced) {
    for (auto& item : problem.items) {
      const auto copying = static_cast<double>(item.size.value) / 16e9;
      item.remapping = uniform(random, 0, 2) * copying;
      item.stall = uniform(random, 0, 0.5) * copying;
    }
  }
  return problem;
}

// Returns a random schedule within the budgets; each phase keeps most of the previous placement.
inline Schedule random_schedule(std::mt19937& random, const Problem& problem, double change = 0.3) {
  Schedule schedule;
  Placement now;
  for (const auto& item : problem.items) now.push_back(problem.homes[item.domain]);
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (uniform(random, 0, 1) > change && k > 0) continue;
      const auto& item = problem.items[i];
      const auto& places = fastest_first(problem, item.domain);
      const auto to = places[random() % places.size()];
      if (to == now[i] || bytes_on(problem, now, to) + item.size > problem.places[to].budget) continue;
      now[i] = to;
    }
    schedule.phases.push_back(now);
  }
  return schedule;
}

}  // namespace terrace::model::testing
