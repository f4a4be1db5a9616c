// SPDX-License-Identifier: Apache-2.0
// Implements --intent: configures the session to place data by an ordering of the machine.
#pragma once

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Configures `session` for --intent: no planner, no hooks, and small allocations are left to the kernel until
// there are many. Does nothing without --intent. Throws Error{invalid} for an intent that the machine does not
// have.
void configure_intent(const LaunchOptions& options, runtime::Session& session);

}  // namespace terrace::cli
