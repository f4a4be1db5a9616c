// How fast copies go beside each phase so that they leave the program the bandwidth that it needs.
#pragma once

#include <vector>

#include "model/loads.hpp"
#include "model/moves.hpp"

namespace terrace::model {

// By phase, as shares of a copy's full speed, to the next hundredth; the schedule says how much copies keep at
// least. `loads`: of its phases, without copies. Empty where nothing is held back.
std::vector<double> rate_limits(const Problem& problem, const Schedule& schedule,
                                const std::vector<PhaseLoad>& loads, const MoveList& list);

}  // namespace terrace::model
