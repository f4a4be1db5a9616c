// The planners by name.
#include <array>

#include "core/error.hpp"
#include "model/costs.hpp"
#include "strategy/planners/planners.hpp"
#include "strategy/policy.hpp"

namespace terrace::strategy {
namespace {

std::array<const Planner*, 14> table() {
  return {&auto_planner(),      &joint_planner(),       &stream_planner(),     &unimem_planner(),
          &global_planner(),    &local_planner(),       &xmem_planner(),       &ecohmem_planner(),
          &soar_planner(),      &first_touch_planner(), &interleave_planner(), &weighted_interleave_planner(),
          &slow_only_planner(), &fast_only_planner()};
}

}  // namespace

bool Planner::gains_by(const model::Problem&, Effort) const { return false; }

Seconds Planner::takes(const model::Problem& problem, Effort) const {
  return static_cast<double>(model::cell_count(problem)) * model::k_plan_cost +
         static_cast<double>(problem.items.size() * problem.phases.size()) * model::k_way_cost;
}

const Planner& find_planner(std::string_view name) {
  std::string known;
  for (const auto* planner : table()) {
    if (planner->name() == name) return *planner;
    known += std::string(planner->name()) + ", ";
  }
  if (is_policy(name) || name == k_cache_mode)
    throw Error(Code::invalid, "--planner " + std::string(name) +
                                   ": it works while the program runs and makes no " +
                                   "plan; give it to terrace simulate or terrace replay");
  known += "and in virtual time ";
  for (const auto policy : policy_names()) known += std::string(policy) + ", ";
  throw Error(Code::invalid,
              "there is no planner '" + std::string(name) + "'; there are " + known + std::string(k_cache_mode));
}

std::vector<std::string_view> planner_names() {
  std::vector<std::string_view> names;
  for (const auto* planner : table()) names.push_back(planner->name());
  return names;
}

}  // namespace terrace::strategy
