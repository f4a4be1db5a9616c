// Where a job's processes write their journals while it runs, and what becomes of them when it has ended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/output_option.hpp"
#include "cli/stale_folders.hpp"
#include "cli/summary.hpp"

namespace terrace::cli {

std::string environment(const char* name);  // "" when it is not set

// $TMPDIR, or /tmp.
std::filesystem::path temporary_folder();
// That it has no room for a folder of journals.
std::string describe_full_folder();

class JournalFolder {
 public:
  // A new folder, node-local and ours alone; removed at the end unless it is to be kept. Those that killed
  // launchers left there long ago are removed. Throws Error{failed}.
  explicit JournalFolder(bool keep);
  ~JournalFolder();
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Whether there is more in the journals than who ran and what was allocated: iterations or loops. Throws Error.
  [[nodiscard]] bool has_iterations_or_loops() const;
  // Whether anything was learned of any program, moved, or is to be told of; a journal that cannot be read may
  // have that.
  [[nodiscard]] bool has_findings() const;
  // Whether of no process anything was seen, for want of hooks: neither accesses nor iterations.
  [[nodiscard]] bool has_no_accesses() const;
  // Why a process was left alone from some time on: profile::k_confined, k_limited; "" where none was.
  [[nodiscard]] std::string reason_terrace_stopped() const;
  // Merges the journals into a profile for each configuration and prints the summaries, as the options say;
  // `outputs` are those of --output; without it the profile is called after `job`. `context`: what the launch
  // knows of the run, its names apart; `notes` are for the profile. Throws Error when a profile cannot be written;
  // the journals stay then.
  void merge(const LaunchOptions& options, const ProfileOutputs& outputs, const std::filesystem::path& job,
             SummaryContext context, const std::vector<std::string>& notes = {});
  void print_location() const;  // the journals are

 private:
  std::filesystem::path path_;
  FolderLock lock_;
  bool keep_;
};

}  // namespace terrace::cli
