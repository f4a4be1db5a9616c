// SPDX-License-Identifier: Apache-2.0
// Reads the variables of Open MPI, MPICH (PMI), PMIx and Slurm. See mpi_rank.hpp.
#include "core/mpi_rank.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace terrace {

namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::optional<std::uint32_t> number(const char* name) {
  const auto text = variable(name);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// A batch script has Slurm's rank and no step; the processes that srun starts have both.
struct Names {
  const char* rank;
  const char* size;
};
constexpr Names k_names[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                             {"PMI_RANK", "PMI_SIZE"},
                             {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

// Returns the job's name from the first system that gives one.
std::string job_name() {
  if (const auto name = variable("PMIX_NAMESPACE"); !name.empty()) return std::string(name);
  if (const auto job = variable("SLURM_JOB_ID"); !job.empty())
    return std::string(job).append(".").append(variable("SLURM_STEP_ID"));
  for (const char* const name : {"PBS_JOBID", "LSB_JOBID"})
    if (const auto job = variable(name); !job.empty()) return std::string(job);
  // The ranks of a node are children of one process of MPICH's launcher; so is the rank's own launcher, if any.
  return std::string(k_mpi_parent).append(std::to_string(getppid()));
}

}  // namespace

std::optional<MpiRank> read_mpi_rank() {
  for (const auto& names : k_names) {
    const auto rank = number(names.rank);
    const auto size = number(names.size);
    if (rank && size && *rank < *size) return MpiRank{*rank, *size, job_name()};
  }
  return {};
}

}  // namespace terrace
