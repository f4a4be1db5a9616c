// Planners that others build on.
#pragma once

#include "strategy/planner.hpp"

namespace terrace::strategy {

const Planner& xmem_planner();
const Planner& ecohmem_planner();
const Planner& soar_planner();
const Planner& global_planner();
const Planner& local_planner();
const Planner& unimem_planner();
const Planner& stream_planner();
// The attempts that it makes next to its quick one, where there are phases.
Decision stream_otherwise(const model::Problem& problem);
// What it finds from each of its beginnings; nothing where there is one phase.
std::vector<Decision> stream_thoroughly(const model::Problem& problem);
const Planner& joint_planner();
const Planner& auto_planner();

}  // namespace terrace::strategy
