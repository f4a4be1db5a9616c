// SPDX-License-Identifier: Apache-2.0
// Reads the environment variables that name a job. See job_id.hpp.
#include "cli/job_id.hpp"

#include "cli/journal_folder.hpp"
#include "core/mpi_rank.hpp"

namespace terrace::cli {

std::string find_batch_job() {
  for (const char* const name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (auto job = environment(name); !job.empty()) return job;
  return {};
}

std::string find_node_job() {
  if (auto job = find_batch_job(); !job.empty()) return job;
  // Processes of PMIx that are no ranks, such as tools, have the job's name, too.
  if (auto job = environment("PMIX_NAMESPACE"); !job.empty()) return job;
  const auto mpi = read_mpi_rank();
  return mpi ? mpi->job : std::string();
}

}  // namespace terrace::cli
