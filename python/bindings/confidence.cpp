// SPDX-License-Identifier: Apache-2.0
// Binds the sampling error of profiles and plans for terrace.solve.confidence: a draw is a random problem from
// which the profile's samples might have come, and the plan's time over many draws gives its interval.
#include "strategy/confidence/confidence.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.hpp"
#include "model/loads.hpp"
#include "model/uncertainty/sampling_error.hpp"
#include "model/uncertainty/spread_error.hpp"
#include "strategy/confidence/for_all.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace terrace::python {
namespace {

using model::Problem;
using strategy::Confidence;

// A plan and the results of its draws.
struct SurePlan {
  Plan plan;
  strategy::Decision decision;
  Confidence confidence;
};

// Makes a plan and evaluates it on so many draws, for `terrace plan`.
SurePlan sure_plan(const Problem& problem, const std::string& name, const model::Calibration* given,
                   std::uint32_t draws) {
  const nb::gil_scoped_release release;
  const auto calibration = given ? *given : model::Calibration{};
  const auto& planner = strategy::find_planner(name);
  SurePlan sure;
  sure.decision = planner.decide(problem, calibration, strategy::Effort::thorough);
  sure.plan = strategy::make_plan(problem, sure.decision, name);
  if (draws == 0) return sure;
  sure.confidence = strategy::confidence_of(problem, calibration, planner, sure.decision, sure.plan, draws);
  strategy::annotate(sure.plan, sure.confidence);
  return sure;
}

// Limits the number of draws. A profile of a long loop has a million cells, and a draw takes a tenth of a second:
// then a quarter of the draws is used, and their quantiles are half as precise.
std::uint32_t affordable(const model::SamplingError& error, std::uint32_t draws) {
  constexpr std::uint64_t k_values = 40'000'000;  // drawn in a few seconds
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(k_values / std::max<std::uint64_t>(error.values(), 1), (draws + 3) / 4, draws));
}

// Returns benefits by draw and object: with sampling error alone, and with the error of attributing prefetched
// lines, too.
using Benefits = std::vector<std::vector<double>>;
std::pair<Benefits, Benefits> benefit_draws(const Problem& problem, std::uint32_t draws) {
  const model::SamplingError error(problem);
  Benefits sampled(affordable(error, draws)), spread(sampled.size());
  const bool spreads = model::has_spread(problem);
  strategy::for_all(static_cast<std::uint32_t>(sampled.size()), [&](std::uint32_t d) {
    auto drawn = error.draw(d);
    sampled[d] = model::object_benefits(drawn);
    if (spreads) model::redraw_spread(drawn, d);
    spread[d] = spreads ? model::object_benefits(drawn) : sampled[d];
  });
  return {std::move(sampled), std::move(spread)};
}

}  // namespace

void bind_confidence(nb::module_& module) {
  nb::class_<SurePlan>(module, "SurePlan", "A plan and its certainty.")
      .def_ro("plan", &SurePlan::plan)
      .def_ro("decision", &SurePlan::decision)
      .def_prop_ro(
          "times", [](const SurePlan& self) { return self.confidence.times; },
          "By draw: seconds of an iteration with the plan if the draw were true.")
      .def_prop_ro(
          "regrets", [](const SurePlan& self) { return self.confidence.regrets; },
          "Seconds an iteration that the plan is predicted to lose to the best one found, by draw.")
      .def(
          "limit_regrets",
          [](SurePlan& self, double bound) {
            if (self.confidence.regrets.empty()) return;
            strategy::limit_regrets(self.confidence, Seconds{bound});
            strategy::annotate(self.plan, self.confidence);
          },
          "bound"_a,
          "Clamps the regret of each draw, and the plan's, to the plan's time less `bound`: seconds an iteration.")
      .def_prop_ro(
          "shares",
          [](const SurePlan& self) {
            nb::list rows;
            for (const auto& share : self.confidence.objects)
              rows.append(nb::make_tuple(share.planned, share.drawn));
            return rows;
          },
          "By object of the problem: the share of it that lies away from home, as planned, and by draw.");
  module.def("sure_plan", &sure_plan, "problem"_a, "planner"_a = "auto", "calibration"_a = nb::none(),
             "draws"_a = 100, "plan(), with confidences from so many draws; 0: none.");
  module.def(
      "regret_under",
      [](const Problem& estimate, const Problem& truth, const strategy::Decision& chosen,
         const std::string& planner, const model::Calibration* calibration) {
        return strategy::regret_under(estimate, truth, calibration ? *calibration : model::Calibration{},
                                      strategy::find_planner(planner), chosen)
            .seconds;
      },
      "estimate"_a, "truth"_a, "chosen"_a, "planner"_a = "auto", "calibration"_a = nb::none(),
      nb::call_guard<nb::gil_scoped_release>(),
      "Seconds an iteration that a planner's decision on the estimate loses where the other problem is true.");
  module.def("benefit_draws", &benefit_draws, "problem"_a, "draws"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Problem.benefits() of problems that the samples might have come from: [draw][object], by the error "
             "of sampling "
             "alone and with that of the spread of prefetched lines, too. Of large problems a quarter of the "
             "draws, at least.");
  module.def(
      "draw",
      [](const Problem& problem, std::uint64_t number, bool spread) {
        const model::SamplingError error(problem);
        return spread ? model::draw_truth(error, number) : error.draw(number);
      },
      "problem"_a, "number"_a, "spread"_a = false,
      "One of the problems that the samples might have come from; with another spread of prefetched lines, too.");
}

}  // namespace terrace::python
