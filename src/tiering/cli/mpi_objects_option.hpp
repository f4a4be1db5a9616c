// SPDX-License-Identifier: Apache-2.0
// Implements `terrace run --mpi-objects`: gives the session the tables of MPI libraries' memory, the places of the
// machine, and the place of each kind.
#pragma once

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Sets the session's MPI objects. Without the option they are observed where the job uses MPI, and stay where they
// are. Requires: the session has its configurations. Throws Error{invalid} for an unknown kind or place.
void configure_mpi_objects(const LaunchOptions& options, runtime::Session& session);

}  // namespace terrace::cli
