// Ranks the loops of a program that could have been its main loop: what share of the work each does, and why the
// profile is not of it.
//
// A loop inside another one that was taken for the main loop does its work as part of that one. Only what it does
// elsewhere counts when the main loop is chosen; so an inner loop that set-up and steps both run does not come
// before the loop of steps.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "observe/loops/loop_tree.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

// Returns the loops that were taken for the main loop, then at most 16 others, each by share, that iterate more
// than once and do at least a twentieth of the work. Loops of one name count as one. `taken`: the nodes that were
// chosen at some time; `refuted`: those of them that were rejected later (LoopFinder::is_refuted).
profile::LoopsRecord loop_candidates(const observe::LoopTree& tree,
                                     const std::function<std::string(const observe::LoopTree::Node&)>& name_of,
                                     const std::set<observe::LoopTree::Index>& taken,
                                     const std::set<observe::LoopTree::Index>& refuted);

}  // namespace terrace::runtime
