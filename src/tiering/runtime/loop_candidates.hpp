// SPDX-License-Identifier: Apache-2.0
// Ranks the loops of a program that could have been its main loop: what share of the work each does, and why the
// profile is not of it. LoopFinder calls it at the end of the run.
//
// A loop nested in a chosen main loop works as part of that one, so only its work elsewhere counts in the choice
// of the main loop. An inner loop that both set-up and time steps run therefore does not come before the loop of
// time steps.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "observe/loops/loop_tree.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

// Returns the loops that were chosen as the main loop, then at most 16 others, each group by share. The others
// iterate more than once and do at least a twentieth of the work. Loops of one name count as one. `selected`: the
// nodes that were chosen at some time; `rejected`: those of them that were rejected later
// (LoopFinder::reject_main_loop).
profile::LoopsRecord loop_candidates(const observe::LoopTree& tree,
                                     const std::function<std::string(const observe::LoopTree::Node&)>& name_of,
                                     const std::set<observe::LoopTree::Index>& selected,
                                     const std::set<observe::LoopTree::Index>& rejected);

}  // namespace terrace::runtime
