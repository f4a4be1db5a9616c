// What became of memory over a file, for the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "cli/periodic.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Prints a line for each process that had more data than memory, from the counts in the folder.
void tell_of_spill(const std::filesystem::path& folder, const runtime::SpillSpec& spec, bool quiet);

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
  Periodic reports_;
};

}  // namespace terrace::cli
