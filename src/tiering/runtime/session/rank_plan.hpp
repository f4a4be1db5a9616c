// SPDX-License-Identifier: Apache-2.0
// Selects the plan of this process's rank from those of an MPI job. The agent does so when it reads its session.
#pragma once

#include "runtime/session/session.hpp"

namespace terrace::runtime {

// Returns the session with the plan of this rank in each configuration, if it has one, and without the others.
[[nodiscard]] Session with_plan_of_rank(Session session);

}  // namespace terrace::runtime
