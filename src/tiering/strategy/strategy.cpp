// SPDX-License-Identifier: Apache-2.0
// Computes this process's budget: its share if the ranks of an MPI job have divided fast memory, else what other
// processes of the job leave. Strategies and planners use it. See
// strategy.hpp.
#include "strategy/strategy.hpp"

#include <algorithm>

#include "memory/ledger.hpp"
#include "strategy/ranks/rank_group.hpp"

namespace terrace::strategy {

machine::Budget Context::own_budget() const {
  if (ranks && ranks->is_divided()) return ranks->own_budget();
  auto own = budget;
  for (PlaceId place = 0; place < own.size(); ++place)
    if (ledger && place != home()) own[place] = own[place] - std::min(own[place], ledger->held_by_others(place));
  return own;
}

}  // namespace terrace::strategy
