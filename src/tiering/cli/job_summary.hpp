// The closing line of a real run of several processes: what their plans gained together, and the worst of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace terrace::cli {

struct JobSummary {
  std::int64_t processes = 0;
  // Killed, or still running, and seen in a loop: one without was left by who had started it, as many are.
  struct Unfinished {
    std::int64_t process = 0;
    std::string program;  // its path
  };
  std::vector<Unfinished> unfinished;
  std::int64_t proven = 0;  // a plan was compared with none there
  std::int64_t undone = 0;  // of them
  // Shares of the iterations' time, of all that were proven; the prediction is of those that have one.
  std::optional<double> gained, predicted;
  double worst = 0;  // of the proven ones
  std::string worst_program;
  std::int64_t worst_process = 0;
  std::int64_t moves = 0, moved = 0;  // moved: bytes
};

// Of the profile; nothing where one process ran, or the time was virtual.
std::optional<JobSummary> read_job_summary(const std::string& path);
// What was gained, without a full stop; empty where nothing is proven.
std::string format_gain(const JobSummary& job);
// Who did not end by itself, `except` apart: its end is told otherwise. Empty: everybody did.
std::string format_unfinished(const JobSummary& job, std::int64_t except);
// An object.
std::string json_of(const JobSummary& job);

}  // namespace terrace::cli
