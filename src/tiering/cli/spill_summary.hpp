// What became of memory over a file, for the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/periodic_task.hpp"
#include "core/units.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

inline double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// A process that had a file beside its memory. Bytes and nanoseconds, as transfer::SpillCounts has them.
struct SpilledProcess {
  std::string program;
  int process = 0;
  std::uint64_t most = 0, read = 0, written = 0, foreseen = 0, demanded = 0, wasted = 0, busy = 0, waited = 0,
                given = 0, refused = 0, beside = 0, over = 0;
  std::uint32_t over_reasons = 0;             // as transfer::OverReason
  std::uint64_t predicted = 0, measured = 0;  // nanoseconds of the same stretches of its time
  double at_once = 1;                         // threads that worked or waited at the same time, on average
  std::uint64_t paged_waited = 0;             // nanoseconds, for pages of data that the kernel read
  bool plan_names = false;                    // some of its data
  bool plan_tried = false;                    // against what touches say
  bool plan_undone = false;                   // as it lost
  double plan_gain = 0;                       // share of the time that it saved then
  bool paged = false;                         // by the kernel, as its data were more than the memory

  // Returns for how long the process's threads waited for the file: for chunks, and for pages that the kernel
  // paged.
  [[nodiscard]] std::uint64_t all_waited() const { return waited + paged_waited; }
  // How much longer it ran than with all data in memory, as far as it waited for the file.
  [[nodiscard]] Seconds longer() const;
  // Not all of its data were in memory, or not all of that within the limit.
  [[nodiscard]] bool had_too_little() const {
    return written > 0 || read > 0 || over > 0 || beside > 0 || refused > 0 || paged;
  }
};

// Of the counts in a job's folder, by the process's number.
std::vector<SpilledProcess> read_spilled_processes(const std::filesystem::path& folder);

SpilledProcess sum_processes(const std::vector<SpilledProcess>& processes);

// One line, of the process that had more data than memory, or of all that had; where none had, that all data
// fitted. `peak`: what the largest process of the job had in memory. Nothing where no process had a file.
std::vector<std::string> lines_of(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec,
                                  Bytes peak);

// All that is known of each that had more data than memory, for the profile.
std::vector<std::string> format_spill_notes(const std::vector<SpilledProcess>& processes,
                                            const runtime::SpillSpec& spec);

// Of all processes, as a JSON object.
std::string spill_json(const std::vector<SpilledProcess>& processes, const runtime::SpillSpec& spec);

// How it goes, in a line every so often while the program runs: what was read, written and waited for since the
// last one, of all its processes together.
class SpillReports {
 public:
  // None where `seconds` is 0.
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
