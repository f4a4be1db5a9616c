// SPDX-License-Identifier: Apache-2.0
// Implements the selection of a rank's plan. See rank_plan.hpp.
#include "runtime/session/rank_plan.hpp"

#include <utility>

#include "core/mpi_rank.hpp"

namespace terrace::runtime {

Session with_plan_of_rank(Session session) {
  const auto mpi = read_mpi_rank();
  for (auto& configuration : session.configurations) {
    auto plans = std::exchange(configuration.rank_plans, {});
    if (!mpi) continue;
    if (const auto own = plans.find(mpi->rank); own != plans.end()) configuration.plan = std::move(own->second);
  }
  return session;
}

}  // namespace terrace::runtime
