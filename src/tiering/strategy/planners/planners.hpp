// SPDX-License-Identifier: Apache-2.0
// Declares the planners that other planners are composed of.
#pragma once

#include "model/relaxation.hpp"
#include "strategy/planner.hpp"

namespace terrace::strategy {

const Planner& global_planner();
const Planner& local_planner();
const Planner& unimem_planner();
const Planner& stream_planner();
// Returns the stream planner's decision at the shadow prices of the lower bound.
Decision stream_priced(const model::Problem& problem, const model::Multipliers& prices);

}  // namespace terrace::strategy
