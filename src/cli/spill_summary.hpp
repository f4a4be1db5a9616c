// What became of memory over a file, for the user.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <thread>

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
  ~SpillReports();
  SpillReports(const SpillReports&) = delete;
  SpillReports& operator=(const SpillReports&) = delete;

 private:
  struct Totals {
    std::uint64_t content = 0, read = 0, written = 0, waited = 0;
  };
  [[nodiscard]] Totals totals() const;
  void go_on();

  std::filesystem::path folder_;
  runtime::SpillSpec spec_;
  double seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace terrace::cli
