// SPDX-License-Identifier: Apache-2.0
// Binds the division of a node's fast memory among the ranks of an MPI job, for `terrace plan --all-ranks`.
#include <nanobind/stl/vector.h>

#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "core/segment_name.hpp"
#include "model/problem.hpp"
#include "strategy/ranks/memory_division.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

// Returns the measured time of each phase that is a call of MPI, and 0 for the others. Such phases have its name
// (docs/how-to/mpi.md).
std::vector<Seconds> times_in_mpi(const model::Problem& problem) {
  std::vector<Seconds> times;
  for (const auto& phase : problem.phases) {
    if (times.empty() || segment_offset(phase.name) == 0) times.emplace_back();
    if (phase.name.starts_with("MPI_")) times.back() += phase.measured;
  }
  return times;
}

// Returns, by rank, the budget with the rank's shares of the places that are faster than their domain's home.
std::vector<std::vector<std::uint64_t>> divide_among_ranks(const std::vector<const model::Problem*>& ranks,
                                                           const std::vector<std::uint64_t>& budget) {
  std::vector<std::vector<std::uint64_t>> shares(ranks.size(), budget);
  if (ranks.empty()) return shares;
  const auto& first = *ranks.front();
  for (std::size_t domain = 0; domain < model::domain_count(first); ++domain) {
    for (const auto place : model::fastest_first(first, static_cast<DomainId>(domain))) {
      if (place == model::home_of(first, static_cast<DomainId>(domain)) || place >= budget.size()) break;
      std::vector<strategy::GainCurve> curves;
      for (const auto* rank : ranks)
        curves.push_back(strategy::gain_curve(*rank, place, Bytes{budget[place]}, times_in_mpi(*rank)));
      const auto divided = strategy::divide_memory(budget[place], curves);
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) shares[rank][place] = divided[rank];
    }
  }
  return shares;
}

}  // namespace

void bind_ranks(nb::module_& module) {
  module.def("divide_among_ranks", &divide_among_ranks, "problems"_a, "budget"_a,
             "Divides a node's budget, by place, among the ranks of an MPI job by the job's time.");
}

}  // namespace terrace::python
