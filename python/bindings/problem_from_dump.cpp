// SPDX-License-Identifier: Apache-2.0
// Parses a placement problem from the dictionary that Problem.to_json() writes, for solvers, tests and acceptance
// on synthetic problems.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "core/error.hpp"

namespace nb = nanobind;

namespace terrace::python {
namespace {

// Throws Error{invalid} for a dump that cannot be read.
[[noreturn]] void refuse(const std::string& what) {
  throw Error(Code::invalid,
              "the JSON text of a problem is invalid: " + what + "; pass one that Problem.to_json() returned");
}

// Returns a field of a row. Throws Error{invalid} if it is missing or of another type.
template <class T>
T get(const nb::handle& row, const char* key) {
  try {
    return nb::cast<T>(row[key]);
  } catch (const nb::cast_error&) {
    refuse(std::string("'") + key + "' has the wrong type");
  } catch (const nb::python_error& error) {
    refuse(std::string("'") + key + "': " + error.what());
  }
}

// Returns a field that is a finite number of at least 0, or above 0 if it must be `positive`.
double amount(const nb::handle& row, const char* key, bool positive = false) {
  const auto value = get<double>(row, key);
  if (!std::isfinite(value) || value < 0 || (positive && value <= 0)) {
    refuse(std::string("'") + key + "' is " + std::to_string(value) + ", not a finite number " +
           (positive ? "above 0" : "of at least 0"));
  }
  return value;
}

// Returns whether the order is a permutation of the domain's places.
bool orders_its_places(const model::Problem& problem, std::size_t domain) {
  std::vector<PlaceId> own;
  for (std::size_t p = 0; p < problem.places.size(); ++p)
    if (problem.places[p].domain == domain) own.push_back(static_cast<PlaceId>(p));
  auto ordered = problem.fastest_first[domain];
  std::ranges::sort(ordered);
  return ordered == own;
}

// Throws Error{invalid} if numbers of places, items or objects are out of range.
void check(const model::Problem& problem) {
  const auto places = problem.places.size(), domains = problem.homes.size();
  bool right = !problem.phases.empty() && problem.copy.size() == places && problem.fastest_first.size() == domains;
  for (const auto& row : problem.copy) right = right && row.size() == places;
  for (const auto& place : problem.places) right = right && place.domain < domains;
  for (std::size_t d = 0; d < domains; ++d) {
    right = right && problem.homes[d] < places && problem.places[problem.homes[d]].domain == d &&
            orders_its_places(problem, d);
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    right = right && item.domain < domains && item.object < problem.objects.size() &&
            problem.measured_at[i] < places && (item.pinned == k_no_place || item.pinned < places);
  }
  for (const auto& phase : problem.phases) {
    for (std::size_t n = 0; n < phase.cells.size(); ++n) {
      right = right && phase.cells[n].item < problem.items.size() &&
              (n == 0 || phase.cells[n - 1].item < phase.cells[n].item);
    }
  }
  if (!right) refuse("its places, items and phases do not fit together");
}

}  // namespace

model::Problem problem_from_dump(const nb::dict& dump) {
  if (get<std::string>(dump, "schema") != "terrace-problem-3") {
    refuse("its schema is not terrace-problem-3");
  }
  model::Problem problem;
  problem.machine = get<std::string>(dump, "machine");
  problem.loop = get<std::string>(dump, "loop");
  problem.cores = amount(dump, "cores", true);
  problem.asking = amount(dump, "asking");
  problem.touch_waits = get<bool>(dump, "touch_waits");
  problem.cyclic = get<bool>(dump, "cyclic");
  problem.exact = get<bool>(dump, "exact");
  for (const auto row : get<nb::list>(dump, "places")) {
    problem.places.push_back({get<std::string>(row, "name"), get<std::string>(row, "kind"),
                              get<DomainId>(row, "domain"), Bytes{get<std::uint64_t>(row, "budget")},
                              amount(row, "read_bandwidth", true), amount(row, "write_bandwidth", true),
                              amount(row, "latency")});
  }
  problem.copier = get<std::string>(dump, "copier");
  problem.copy = get<std::vector<std::vector<double>>>(dump, "copy");
  problem.homes = get<std::vector<PlaceId>>(dump, "homes");
  problem.fastest_first = get<std::vector<std::vector<PlaceId>>>(dump, "fastest_first");
  for (const auto row : get<nb::list>(dump, "objects")) {
    problem.objects.push_back({get<std::string>(row, "name"), Bytes{get<std::uint64_t>(row, "size")},
                               get<std::uint32_t>(row, "chunks")});
  }
  for (const auto row : get<nb::list>(dump, "items")) {
    const bool pinned = nb::cast<nb::dict>(row).contains("pinned");
    problem.items.push_back({Bytes{get<std::uint64_t>(row, "size")}, get<DomainId>(row, "domain"),
                             get<std::uint32_t>(row, "object"), get<std::uint32_t>(row, "ordinal"),
                             get<std::uint32_t>(row, "chunks"), pinned ? get<PlaceId>(row, "pinned") : k_no_place,
                             amount(row, "remapping"), amount(row, "stall")});
    problem.measured_at.push_back(get<PlaceId>(row, "measured_at"));
  }
  for (const auto row : get<nb::list>(dump, "phases")) {
    model::ProblemPhase phase;
    phase.name = get<std::string>(row, "name");
    phase.core = Seconds{amount(row, "core")};
    phase.measured = Seconds{amount(row, "measured")};
    phase.unexplained = Seconds{amount(row, "unexplained")};
    phase.samples = amount(row, "samples");
    phase.samples_with_access = amount(row, "samples_with_access");
    for (const auto& cell : get<std::vector<std::vector<double>>>(row, "cells")) {
      if (cell.size() != 5 && cell.size() != 7)
        refuse("a cell has " + std::to_string(cell.size()) + " numbers, not five or seven");
      auto& made = phase.cells.emplace_back(
          model::ItemCell{static_cast<std::uint32_t>(cell[0]), cell[1], cell[2], cell[3], cell[4]});
      if (cell.size() == 5) continue;
      made.streamed_bytes = cell[5];
      made.streamed_exposure = cell[6];
    }
    problem.phases.push_back(std::move(phase));
  }
  check(problem);
  return problem;
}

}  // namespace terrace::python
