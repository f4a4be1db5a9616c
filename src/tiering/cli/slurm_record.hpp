// SPDX-License-Identifier: Apache-2.0
// Reads the generic resources of the Slurm job in which the launcher runs, once for all launchers of the job on
// this node: a job of 10,000 ranks must not send as many requests to Slurm's controller. The first launcher runs
// `scontrol` and writes the counts into a file beside the job's ledger; the others wait for it, and the last one
// removes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/slurm_budget.hpp"
#include "machine/machine.hpp"

namespace terrace::cli {

// Not thread-safe.
class SlurmAllocation {
 public:
  SlurmAllocation() = default;
  ~SlurmAllocation();
  SlurmAllocation(const SlurmAllocation&) = delete;
  SlurmAllocation& operator=(const SlurmAllocation&) = delete;

  // Returns the text of the budget for the machine, or "" outside of a job, on a machine with one kind of memory,
  // and for a job without such resources. Adds a line to `sentences` in the first launcher of the job on this
  // node: which budget was taken, or why none can be read. Throws Error{invalid} if TERRACE_GRES is malformed.
  std::string find_budget(const machine::Machine& machine, std::vector<std::string>& sentences);

 private:
  // Reads the job's counts from the shared file, or from scontrol.
  void read(const std::string& job, std::vector<std::string>& sentences);

  bool is_read_ = false;
  bool is_first_ = true;  // this launcher has run scontrol
  std::optional<GresCounts> counts_;
  std::string node_;
  std::string path_;  // shared file
  int fd_ = -1;       // locked while this launcher lives
};

// Removes the shared files of jobs that no launcher uses any more. Ignores errors.
void remove_stale_allocations() noexcept;

}  // namespace terrace::cli
