// SPDX-License-Identifier: Apache-2.0
// Reads from the environment which rank of which MPI job a process is. Launchers of MPI jobs set these variables;
// the processes that a rank starts inherit them. Used by the launcher and inside programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace terrace {

// Prefix of a job's name that is the number of the ranks' parent process.
inline constexpr std::string_view k_mpi_parent = "parent-";

struct MpiRank {
  std::uint32_t rank = 0;  // in MPI_COMM_WORLD
  std::uint32_t size = 1;  // of MPI_COMM_WORLD
  // Equal for all ranks of a job, and different for each job on a node. MPICH's launcher gives no name: ranks on
  // different nodes then have different ones, unless a batch system runs the job.
  std::string job;
};

// Returns nothing outside of MPI jobs.
std::optional<MpiRank> read_mpi_rank();

}  // namespace terrace
