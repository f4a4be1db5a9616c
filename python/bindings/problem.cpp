// SPDX-License-Identifier: Apache-2.0
// Binds the placement problem (objects, phases, memories and budgets): contents, predictions, bounds. Used by
// terrace.solve.
#include "model/problem.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "bindings.hpp"
#include "core/error.hpp"
#include "model/loads.hpp"
#include "model/lower_bound.hpp"
#include "model/uncertainty/loop_bound.hpp"
#include "model/uncertainty/resampling.hpp"
#include "model/unimem_model.hpp"
#include "strategy/hints/hints.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using model::Prediction;
using model::Problem;
using model::Schedule;

// Builds the problem of a profile on a machine, without segments that the usual iteration does not reach.
Problem make(const profile::Profile& profile, const machine::Machine& machine,
             const std::vector<std::uint64_t>& budget, bool cyclic, std::size_t max_items,
             const strategy::Hints* hints, bool every_segment) {
  machine::Budget bytes;
  for (const auto size : budget) bytes.push_back(Bytes{size});
  auto problem =
      model::make_problem(profile, machine, bytes, max_items, hints ? hints->directives : model::Directives{});
  problem.cyclic = cyclic;
  if (!every_segment) model::drop_unreached_segments(problem);
  return problem;
}

// Parses places[phase][item], or one row for all phases.
Schedule schedule_from(const Problem& problem, const std::vector<model::Placement>& rows) {
  Schedule schedule;
  schedule.phases = rows;
  if (rows.size() == 1) schedule.phases.assign(problem.phases.size(), rows.front());
  if (schedule.phases.size() != problem.phases.size()) {
    throw Error(Code::invalid, "the schedule has " + std::to_string(rows.size()) +
                                   " rows; pass one for each of the " + std::to_string(problem.phases.size()) +
                                   " phases, or one for all");
  }
  for (const auto& row : schedule.phases) {
    bool fits = row.size() == problem.items.size();
    for (const auto place : row) fits = fits && place < problem.places.size();
    if (!fits)
      throw Error(Code::invalid, "row " + std::to_string(&row - schedule.phases.data()) +
                                     " of the schedule does not fit the problem; pass a place number below " +
                                     std::to_string(problem.places.size()) + " for each of the " +
                                     std::to_string(problem.items.size()) + " items");
  }
  return schedule;
}

// Returns the predicted time with all data at home, in slow memory.
double slow_time(const Problem& problem) {
  std::vector<PlaceId> homes;
  for (std::size_t d = 0; d < model::domain_count(problem); ++d) {
    homes.push_back(model::home_of(problem, static_cast<DomainId>(d)));
  }
  return model::predict(problem, model::uniform_schedule(problem, homes)).total.value;
}

// Returns a dictionary for each phase and object with traffic: its bandwidth (eq. 1) and its gain from fast
// memory.
nb::list sensitivities(const Problem& problem, const model::Calibration& calibration) {
  const model::UnimemModel unimem(problem, calibration);
  nb::list rows;
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto& phase = problem.phases[k];
    struct Sum {
      double read = 0, written = 0, exposure = 0, samples = 0, benefit = 0;
    };
    std::vector<Sum> sums(problem.objects.size());
    for (const auto& cell : phase.cells) {
      const auto& item = problem.items[cell.item];
      auto& sum = sums[item.object];
      sum.read += cell.read_bytes;
      sum.written += cell.write_bytes;
      sum.exposure += cell.exposure;
      sum.samples += cell.samples;
      sum.benefit += unimem.benefit(k, cell, model::home_of(problem, item.domain),
                                    model::fastest_first(problem, item.domain).front());
    }
    for (std::size_t o = 0; o < sums.size(); ++o) {
      const auto& sum = sums[o];
      if (sum.read + sum.written <= 0) continue;
      const auto consumed = model::consumed_bandwidth(sum.read + sum.written, std::min(sum.samples, phase.samples),
                                                      phase.samples, phase.measured);
      const auto home = model::home_of(problem, 0);
      const auto known = home < calibration.places.size() && calibration.places[home].peak_bandwidth > 0;
      const auto peak = known ? calibration.places[home].peak_bandwidth : problem.places[home].read_bandwidth;
      static constexpr const char* k_names[] = {"bandwidth", "latency", "either"};
      nb::dict row;
      row["phase"] = k;
      row["object"] = problem.objects[o].name;
      row["read_bytes"] = sum.read;
      row["write_bytes"] = sum.written;
      row["exposure"] = sum.exposure;
      row["bandwidth"] = consumed;
      row["sensitivity"] = k_names[static_cast<std::size_t>(model::sensitivity(consumed, peak, calibration))];
      row["benefit"] = sum.benefit;
      rows.append(row);
    }
  }
  return rows;
}

}  // namespace

void bind_problem(nb::module_& module) {
  nb::class_<model::PhaseTime>(module, "PhaseTime", "A phase's time and its components, seconds.")
      .def_ro("core", &model::PhaseTime::core)
      .def_ro("exposed", &model::PhaseTime::exposed)
      .def_ro("bandwidth", &model::PhaseTime::bandwidth)
      .def_ro("copies", &model::PhaseTime::copies)
      .def_ro("asking", &model::PhaseTime::asking)
      .def_ro("waiting", &model::PhaseTime::waiting)
      .def_ro("total", &model::PhaseTime::total);
  nb::class_<Prediction>(module, "Prediction", "Prediction of an iteration by the model.")
      .def_ro("phases", &Prediction::phases)
      .def_prop_ro("total", [](const Prediction& self) { return self.total.value; })
      .def_prop_ro("moved", [](const Prediction& self) { return self.moved.value; })
      .def_ro("moves", &Prediction::moves);
  nb::class_<Problem>(module, "Problem", "A placement problem: items, phases, places and budgets.")
      .def(
          "__init__",
          [](Problem* self, const profile::Profile& profile, const machine::Machine& machine,
             const std::vector<std::uint64_t>& budget, bool cyclic, std::size_t max_items,
             const strategy::Hints* hints, bool every_segment) {
            new (self) Problem(make(profile, machine, budget, cyclic, max_items, hints, every_segment));
          },
          "profile"_a, "machine"_a, "budget"_a = std::vector<std::uint64_t>{}, "cyclic"_a = true,
          "max_items"_a = 4096, "hints"_a = nb::none(), "every_segment"_a = false,
          "`budget` is bytes by place (Machine.budget); places past its end are whole. Of hints, the "
          "directives count. Segments that the usual iteration does not reach are left out, but for "
          "`every_segment`: problems of the same loop's iterations then have the same phases.")
      .def_static("from_dump", &problem_from_dump, "dump"_a, "Parses the result of json.loads(problem.to_json()).")
      .def("to_json", &model::dump_json, "Exports the problem for external solvers; schema terrace-problem-3.")
      .def_prop_ro("items", [](const Problem& self) { return self.items.size(); })
      .def_prop_ro("phases",
                   [](const Problem& self) {
                     std::vector<std::string> names;
                     for (const auto& phase : self.phases) names.push_back(phase.name);
                     return names;
                   })
      .def_prop_ro("footprint",
                   [](const Problem& self) {
                     std::uint64_t sum = 0;
                     for (const auto& item : self.items) sum += item.size.value;
                     return sum;
                   })
      .def(
          "predict",
          [](const Problem& self, const std::vector<model::Placement>& places) {
            return model::predict(self, schedule_from(self, places));
          },
          "places"_a, "Predicts a schedule: a place for each item, with one row per phase or one row for all.")
      .def(
          "within_budget",
          [](const Problem& self, const std::vector<model::Placement>& places) {
            return model::within_budget(self, schedule_from(self, places));
          },
          "places"_a)
      .def(
          "lower_bound",
          [](const Problem& self, std::optional<double> target, int passes) {
            return model::lower_bound(self, target.value_or(slow_time(self)), {.passes = passes}).seconds;
          },
          "target"_a = nb::none(), "passes"_a = 400, nb::call_guard<nb::gil_scoped_release>(),
          "Returns the lower bound of an iteration in seconds. `target`: the best known time.")
      .def(
          "bound_at",
          [](const Problem& self, std::vector<double> row, std::vector<double> capacity) {
            return model::bound_at(self, {std::move(row), std::move(capacity)});
          },
          "row"_a, "capacity"_a, nb::call_guard<nb::gil_scoped_release>(),
          "What prices prove, seconds: row[phase x (core, places, copies)], capacity[phase x place] in s/byte. "
          "Any prices prove a bound; negative ones count as 0, and a phase's rows are scaled to sum to 1.")
      .def(
          "better_prices",
          [](const Problem& self, std::vector<double> row, std::vector<double> capacity, double target,
             int passes) {
            auto bound = model::lower_bound(self, target, {.passes = passes},
                                            model::make_feasible(self, {std::move(row), std::move(capacity)}));
            return std::pair(std::move(bound.prices.row), std::move(bound.prices.capacity));
          },
          "row"_a, "capacity"_a, "target"_a, "passes"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Prices that prove as much as these, or more: so many passes from them towards `target`, the best time "
          "known.")
      .def(
          "prices",
          [](const Problem& self, double target, int passes) {
            auto bound = model::lower_bound(self, target, {.passes = passes});
            return std::pair(std::move(bound.prices.row), std::move(bound.prices.capacity));
          },
          "target"_a, "passes"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Returns the prices that prove lower_bound(): row and capacity, as for bound_at().")
      .def(
          "loop_bound",
          [](const Problem& self, const std::vector<double>& shares, const std::vector<double>& warm,
             std::uint32_t iterations, std::vector<double> row, std::vector<double> capacity) {
            const auto prices = model::make_feasible(self, {std::move(row), std::move(capacity)});
            const auto bound = model::loop_bound(self, shares, warm, iterations, prices);
            return std::pair(bound.seconds, bound.stated);
          },
          "shares"_a, "warm"_a, "iterations"_a, "row"_a, "capacity"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Seconds of a loop's mean iteration: its bound by the samples as they are, and the one that holds at 99 "
          "% "
          "confidence as far as sampling errs. `shares`: by phase, how much of it the mean of the iterations "
          "runs; "
          "`warm`: the same with caches as warm as in the loop.")
      .def_static(
          "iteration_difference", &model::iteration_difference, "iterations"_a,
          "How far iterations of a loop use other data than their mean, 0 to 1, beyond what sampling makes "
          "of it.")
      .def("bounds_of_phases", &model::bounds_of_phases, nb::call_guard<nb::gil_scoped_release>(),
           "Returns lower bounds by phase, each for placements made for that phase alone.")
      .def_prop_ro("measured",
                   [](const Problem& self) {
                     std::vector<double> seconds;
                     for (const auto& phase : self.phases) seconds.push_back(phase.measured.value);
                     return seconds;
                   })
      .def_static("in_sequence", &model::concatenate_iterations, "iterations"_a,
                  "Concatenates iterations of a loop; the first and last placement are free.")
      .def_prop_ro("objects",
                   [](const Problem& self) {
                     std::vector<std::string> names;
                     for (const auto& object : self.objects) names.push_back(object.name);
                     return names;
                   })
      .def("benefits", &model::object_benefits,
           "Returns by object the gain per iteration if it alone is in its domain's fastest place.")
      .def("sensitivities", &sensitivities, "calibration"_a,
           "Returns by phase and object: traffic, bandwidth (eq. 1), sensitivity, gain from fast memory.");
}

}  // namespace terrace::python
