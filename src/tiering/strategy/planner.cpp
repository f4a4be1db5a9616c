// SPDX-License-Identifier: Apache-2.0
// Implements the defaults of planners, and finds planners and variants by the name of --planner, for the launcher,
// the runtime and the Python bindings. See planner.hpp and variant.hpp.
#include "strategy/planner.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "model/costs.hpp"

namespace terrace::strategy {

bool Planner::improves_with(const model::Problem&, Effort) const { return false; }

Seconds Planner::planning_time(const model::Problem& problem, Effort) const {
  return static_cast<double>(model::cell_count(problem)) * model::k_plan_cost +
         static_cast<double>(problem.items.size() * problem.phases.size()) * model::k_way_cost;
}

namespace {

template <class Wanted>
std::vector<std::string_view> names_of(Wanted wanted) {
  std::vector<std::string_view> names;
  for (const auto* variant : variants())
    if (wanted(*variant)) names.push_back(variant->name());
  return names;
}

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

std::vector<std::string_view> planner_names() {
  return names_of([](const Variant& variant) { return variant.planner() != nullptr; });
}

std::vector<std::string_view> profiling_planner_names() {
  return names_of([](const Variant& variant) { return variant.planner() && variant.planner()->needs_profile(); });
}

std::vector<std::string_view> simulation_only_names() {
  return names_of([](const Variant& variant) { return variant.is_simulation_only(); });
}

const Variant& find_variant(std::string_view name) {
  const auto found = std::ranges::find(variants(), name, [](const Variant* variant) { return variant->name(); });
  if (found != variants().end()) return **found;
  throw Error(Code::invalid, "there is no planner '" + std::string(name) + "'; there are " +
                                 list(planner_names()) + ", and in virtual time " + list(simulation_only_names()));
}

const Planner& find_planner(std::string_view name) {
  const auto& variant = find_variant(name);
  if (const auto* planner = variant.planner()) return *planner;
  throw Error(Code::invalid, "--planner " + std::string(name) + ": it works while the program runs and makes no " +
                                 "plan; give it to terrace simulate or terrace replay");
}

}  // namespace terrace::strategy
