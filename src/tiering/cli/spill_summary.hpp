// SPDX-License-Identifier: Apache-2.0
// Summarises out-of-core memory of `terrace run --memory` for the user: periodic reports, the closing line, notes
// for the profile, JSON. The launcher calls it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/periodic_task.hpp"
#include "core/system_time.hpp"
#include "core/units.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Counts of one process with a backing file, in bytes and nanoseconds, under the names of transfer::SpillCounts.
struct SpilledProcess {
  std::string program;
  int process = 0;
  std::uint64_t most = 0, read = 0, written = 0, foreseen = 0, demanded = 0, wasted = 0, busy = 0, waited = 0,
                given = 0, refused = 0, beside = 0, over = 0;
  std::uint32_t over_reasons = 0;             // as transfer::OverReason
  std::uint64_t predicted = 0, measured = 0;  // nanoseconds of the same intervals
  double at_once = 1;                         // mean number of threads that worked or waited concurrently
  std::uint64_t paged_waited = 0;             // nanoseconds of waits for data that the kernel paged in
  bool plan_names = false;                    // the plan names some of its objects
  bool plan_tried = false;                    // the plan was compared with access-driven paging
  bool plan_undone = false;                   // the plan was undone, because it lost
  double plan_gain = 0;                       // share of time that the plan saved
  bool paged = false;                         // the kernel paged all data, which exceeded the limit

  // Returns for how long the process's threads waited for the file: for chunks, and for pages that the kernel
  // paged.
  [[nodiscard]] std::uint64_t all_waited() const { return waited + paged_waited; }
  // Returns by how much waits for the file extended the run.
  [[nodiscard]] Seconds longer() const;
  // Returns whether some data were not in memory, or not within the limit.
  [[nodiscard]] bool had_too_little() const {
    return written > 0 || read > 0 || over > 0 || beside > 0 || refused > 0 || paged;
  }
};

// Reads the counts in the job's folder, sorted by process.
std::vector<SpilledProcess> read_spilled_processes(const std::filesystem::path& folder);

// Adds up the counts of all processes.
SpilledProcess sum_processes(const std::vector<SpilledProcess>& processes);

// Returns the closing line: for the process with more data than memory, for all of them together, or that all data
// fitted. `peak`: resident memory of the job's largest process. Returns nothing if no process has a backing file.
std::vector<std::string> format_spill_lines(const std::vector<SpilledProcess>& processes,
                                            const runtime::SpillSpec& spec, Bytes peak);

// Returns a detailed note for the profile for each process with more data than memory.
std::vector<std::string> format_spill_notes(const std::vector<SpilledProcess>& processes,
                                            const runtime::SpillSpec& spec);

// Returns the sums of all processes as a JSON object.
std::string spill_json(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec);

// Prints a line periodically while the program runs: bytes read and written and waits since the last line, of all
// its processes together.
class SpillReports {
 public:
  // `seconds`: interval between two lines; 0: none.
  SpillReports(std::filesystem::path folder, const runtime::SpillSpec& spec, double seconds);

 private:
  struct Totals {
    std::uint64_t content = 0, read = 0, written = 0, waited = 0;
  };
  [[nodiscard]] Totals totals() const;
  void report();

  std::filesystem::path folder_;
  runtime::SpillSpec spec_;
  double seconds_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  Totals before_;
  PeriodicTask reports_;
};

}  // namespace terrace::cli
