// SPDX-License-Identifier: Apache-2.0
// Finds the job to which the launcher belongs, from the environment variables of batch systems and MPI launchers.
#pragma once

#include <string>

namespace terrace::cli {

// Returns the number of the batch system (Slurm, PBS, LSF), or "".
std::string find_batch_job();
// Returns a name that all launchers of a batch job or an MPI job on this node have in common, or "" outside of
// one.
std::string find_node_job();

}  // namespace terrace::cli
