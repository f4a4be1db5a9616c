// Which of a plan's phases the phases of a program answer to, where the plan was made of another run: one with
// other sizes, with more levels or more inner iterations. Phases answer to one another in their order, by their
// names; of names that end in a number the part before it has to be the same, and the highest numbers answer to
// each other, as the finest levels of multigrid do ("resid.5" of 5 levels is "resid.7" of 7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace terrace::strategy {

// By phase of the program: the position of the plan's. As many as can be, those at the same level first.
std::vector<std::optional<std::uint32_t>> match_phases(const std::vector<std::string>& planned,
                                                       const std::vector<std::string>& running);

}  // namespace terrace::strategy
