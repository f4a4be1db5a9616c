// SPDX-License-Identifier: Apache-2.0
// Rate limits of copies in each phase that leave the program the bandwidth that it needs.
#pragma once

#include <vector>

#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::model {

// Returns, by phase, the rate limit as a share of full copy speed, rounded to hundredths; Schedule::min_copy_share
// is the lower limit of a copy's bandwidth. `loads`: of the phases, without copies. Empty if copies are not
// limited.
std::vector<double> rate_limits(const Problem& problem, const Schedule& schedule,
                                const std::vector<PhaseLoad>& loads, const MoveList& list);

}  // namespace terrace::model
