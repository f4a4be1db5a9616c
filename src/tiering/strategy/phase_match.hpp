// SPDX-License-Identifier: Apache-2.0
// Maps the phases of a running program to those of a plan that was made of another run: one with other sizes, more
// levels or more inner iterations. Phases correspond in their order and by their names. Of names that end in a
// number the stem has to be equal, and the highest numbers correspond, as the finest levels of multigrid do
// ("resid.5" of 5 levels is "resid.7" of 7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace terrace::strategy {

// Returns for each phase of the program the index of the plan's phase, or none. Maximises the number of pairs;
// pairs at the same level count more.
std::vector<std::optional<std::uint32_t>> match_phases(const std::vector<std::string>& planned,
                                                       const std::vector<std::string>& running);

}  // namespace terrace::strategy
