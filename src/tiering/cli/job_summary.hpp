// SPDX-License-Identifier: Apache-2.0
// Summarises a real run of several processes for the launcher's closing line (summary.hpp): what their plans
// gained together, and the worst one; and why a process moved nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace terrace::cli {

struct JobSummary {
  std::int64_t processes = 0;
  std::int64_t ranks = 0;  // of an MPI job that are in the profile
  // A process that was killed, or still runs, and had begun a loop or is a rank of an MPI job. Others are omitted:
  // many programs leave helpers behind.
  struct Unfinished {
    std::int64_t process = 0;
    std::string program;     // its path
    std::int64_t rank = -1;  // -1: none
  };
  std::vector<Unfinished> unfinished;
  std::int64_t proven = 0;  // processes that compared a plan with no plan
  std::int64_t undone = 0;  // of `proven`
  std::int64_t noise = 0;   // of `proven`: iterations with and without the plan differ by chance only
  // Gains of all proven processes, as shares of the time of their iterations; `predicted`: of those with a
  // prediction.
  std::optional<double> gained, predicted;
  double worst = 0;  // smallest gain of the proven processes
  std::string worst_program;
  std::int64_t worst_process = 0;
  std::int64_t worst_rank = -1;       // -1: none
  std::int64_t moves = 0, moved = 0;  // moved: bytes
};

// Reads the summary from a profile; nullopt if one process ran, or time was virtual.
std::optional<JobSummary> read_job_summary(const std::string& path);
// Returns a clause on what was gained; "" if nothing is proven.
std::string format_gain(const JobSummary& job);
// Returns a clause on the processes that did not end by themselves, except `except`, which is reported elsewhere;
// "" if there are none.
std::string format_unfinished(const JobSummary& job, std::int64_t except);
// Returns a JSON object.
std::string json_of(const JobSummary& job);

// Returns why a run with a planner and several kinds of memory moved nothing in one process, as a clause.
// `fastest`: the name of the fastest place.
std::string reason_for_no_moves(const std::string& path, std::int64_t run, const std::string& fastest);

}  // namespace terrace::cli
