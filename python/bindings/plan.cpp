// SPDX-License-Identifier: Apache-2.0
// Binds planners and plans, for `terrace plan` and all subcommands that evaluate placements.
#include "core/plan.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "core/segment_labels.hpp"
#include "model/problem.hpp"
#include "strategy/files/plan_file.hpp"
#include "strategy/planner.hpp"
#include "strategy/policy.hpp"
#include "strategy/search/ablation.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using model::Problem;
using strategy::Decision;

// Returns the calibration, by default with constants of 1.
Decision decide(const Problem& problem, const std::string& planner, const model::Calibration* calibration,
                bool quick) {
  const nb::gil_scoped_release release;
  return strategy::find_planner(planner).decide(problem, calibration ? *calibration : model::Calibration{},
                                                quick ? strategy::Effort::quick : strategy::Effort::thorough);
}

nb::list objects_of(const Plan& plan) {
  nb::list objects;
  for (const auto& object : plan.objects) {
    nb::list parts, confidences;
    for (const auto& part : object.parts) {
      parts.append(nb::make_tuple(part.chunks.first, part.chunks.count, part.place));
      confidences.append(part.confidence ? nb::cast(*part.confidence) : nb::none());
    }
    nb::dict row;
    row["name"] = object.name;
    row["size"] = object.size.value;
    row["chunks"] = object.chunks;
    row["pinned"] = object.pinned;
    row["parts"] = parts;
    row["confidences"] = confidences;
    objects.append(row);
  }
  return objects;
}

nb::list moves_of(const Plan& plan) {
  nb::list moves;
  for (const auto& move : plan.moves) {
    const auto& object = plan.objects.at(move.object);
    nb::dict row;
    row["object"] = object.name;
    row["first"] = move.chunks.first;
    row["chunks"] = move.chunks.count;
    row["bytes"] = object.size.value * move.chunks.count / object.chunks;
    row["to"] = move.to;
    row["ask"] = move.ask;
    row["need"] = move.need;
    row["awaited"] = move.awaited;
    row["benefit"] = move.benefit.value;
    row["cost"] = move.cost.value;
    moves.append(row);
  }
  return moves;
}

// Returns time over budget: one row for each budget and planner.
nb::list sweep(const profile::Profile& profile, const machine::Machine& machine,
               const std::vector<std::vector<std::uint64_t>>& budgets, const std::vector<std::string>& planners,
               const model::Calibration* calibration, std::size_t max_items) {
  nb::list rows;
  for (std::size_t b = 0; b < budgets.size(); ++b) {
    machine::Budget budget;
    for (const auto size : budgets[b]) budget.push_back(Bytes{size});
    auto problem = model::make_problem(profile, machine, budget, max_items);
    model::drop_unreached_segments(problem);
    for (const auto& name : planners) {
      const auto decision = decide(problem, name, calibration, false);
      nb::dict row;
      row["budget"] = b;
      row["planner"] = name;
      row["seconds"] = decision.prediction.total.value;
      row["lower_bound"] = decision.lower_bound;
      row["moves"] = decision.prediction.moves;
      row["moved"] = decision.prediction.moved.value;
      rows.append(row);
    }
  }
  return rows;
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<Decision>(module, "Decision", "Decision of a planner.")
      .def_prop_ro(
          "places", [](const Decision& self) { return self.schedule.phases; }, "place[phase][item]")
      .def_ro("prediction", &Decision::prediction)
      .def_ro("gap", &Decision::gap, "Optimality gap of an inexact search, relative to its objective.")
      .def_ro("lower_bound", &Decision::lower_bound, "0 when the planner computed none.");
  nb::class_<Plan>(module, "Plan", "Initial placement of objects, and moves.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& file) { return strategy::parse_plan(text, file); },
          "text"_a, "file"_a = "plan")
      .def_static(
          "read", [](const std::string& path) { return strategy::read_plan_file(path); }, "path"_a)
      .def_static(
          "from_bytes",
          [](const nb::bytes& blob) {
            BlobReader in(bytes_of(blob));
            return Plan::from_blob(in);
          },
          "blob"_a)
      .def("to_bytes",
           [](const Plan& self) {
             BlobWriter out;
             self.to_blob(out);
             return nb::bytes(out.bytes().data(), out.bytes().size());
           })
      .def("to_toml", &strategy::format_plan)
      .def(
          "write", [](const Plan& self, const std::string& path) { strategy::write_plan_file(path, self); },
          "path"_a)
      .def_ro("planner", &Plan::planner)
      .def_ro("machine", &Plan::machine)
      .def_ro("loop", &Plan::loop)
      .def_ro("budget", &Plan::budget)
      .def_ro("phases", &Plan::phases)
      .def_prop_ro(
          "segments", [](const Plan& self) { return segment_labels(self.phases, self.lengths); },
          "Readable names of phases and segments by position, as in the plan file.")
      .def_ro("rate_limits", &Plan::rate_limits, "by phase, of full speed; empty: all at full speed")
      .def_prop_ro("objects", &objects_of)
      .def_prop_ro("moves", &moves_of)
      .def_prop_ro("predicted", [](const Plan& self) { return self.predicted.value; })
      .def_prop_ro("predicted_slow", [](const Plan& self) { return self.predicted_slow.value; })
      .def_prop_ro("lower_bound", [](const Plan& self) { return self.lower_bound.value; })
      .def_ro("gap", &Plan::gap)
      .def_ro("draws", &Plan::draws, "Number of resampled problems for regret and confidences; 0: not computed.")
      .def_prop_ro(
          "regret",
          [](const Plan& self) {
            return nb::make_tuple(self.regret.value, self.regret_low.value, self.regret_high.value);
          },
          "Predicted cost of sampling error per iteration: mean, and 90 % interval.");
  module.def(
      "segment_labels", [](const std::vector<std::string>& names) { return segment_labels(names); }, "names"_a,
      "Returns readable, unique names of phases and segments by position: \"matvec 3, 12 %\".");
  module.def("planners", &strategy::planner_names, "Returns the planners' names.");
  module.def("profiling_planners", &strategy::profiling_planner_names,
             "Returns the names of planners that decide from a profiled iteration.");
  module.def("policies", &strategy::simulation_only_names,
             "Returns the names of policies that act in virtual time without a plan, and cache mode.");
  module.def(
      "planner_parts",
      [] {
        return std::vector<std::string>(std::begin(strategy::k_search_steps), std::end(strategy::k_search_steps));
      },
      "Returns the parts of the planners' searches that leave_out() accepts.");
  module.def(
      "leave_out",
      [](const std::vector<std::string>& parts) {
        for (const auto& part : parts)
          if (std::ranges::count(strategy::k_search_steps, part) == 0)
            throw Error(Code::not_found, "leave_out(): the planners have no part '" + part +
                                             "'; pass names that planner_parts() returns");
        strategy::disabled_search_steps() = parts;
      },
      "parts"_a, "Disables these parts in searches of this thread; an empty list enables all.");
  module.def("decide", &decide, "problem"_a, "planner"_a = "auto", "calibration"_a = nb::none(), "quick"_a = false,
             "Returns a planner's decision; `quick`: with the effort of a live run.");
  module.def(
      "plan",
      [](const Problem& problem, const std::string& planner, const model::Calibration* calibration) {
        return strategy::make_plan(problem, decide(problem, planner, calibration, false), planner);
      },
      "problem"_a, "planner"_a = "auto", "calibration"_a = nb::none(),
      "Returns a planner's decision as a plan in names.");
  module.def("sweep", &sweep, "profile"_a, "machine"_a, "budgets"_a, "planners"_a, "calibration"_a = nb::none(),
             "max_items"_a = 4096,
             "Returns a row for each budget (bytes by place) and planner: the curve of time over size.");
}

}  // namespace terrace::python
