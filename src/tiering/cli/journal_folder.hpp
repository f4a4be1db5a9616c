// SPDX-License-Identifier: Apache-2.0
// Owns the folder in which a job's processes write their journals (logs of objects, phases and moves) while it
// runs; merges them into profiles at the end. Groups journals by configuration, and names the profile of each.
// Used by the launcher, replay and merge.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/folder_watcher.hpp"
#include "cli/options.hpp"
#include "cli/output_option.hpp"
#include "cli/stale_folders.hpp"
#include "cli/summary.hpp"

namespace terrace::cli {

// Sorted paths by label. A journal's name is LABEL.PROCESS.N.journal ("-": no label).
using Journals = std::map<std::string, std::vector<std::string>>;

// Adds a file under its label.
void add_journal(Journals& journals, const std::filesystem::path& file);
// Adds all journals in the folder, not in folders below it.
void add_journals_in(Journals& journals, const std::filesystem::path& folder);
// Returns whether the folder has a journal of a process.
bool has_journal_of(const std::filesystem::path& folder, int process);

// Returns the profile of a configuration: "out.terrace" for no label, else "out.LABEL.terrace".
std::string output_of_configuration(const std::string& output, const std::string& label);

// Returns an environment variable; "" if it is not set.
std::string environment(const char* name);

// Returns $TMPDIR, or /tmp.
std::filesystem::path temporary_folder();
// Returns the error text for a temporary folder without free space.
std::string describe_full_folder();

// Not thread-safe.
class JournalFolder {
 public:
  // Creates a private folder in the temporary folder, and removes stale ones of killed launchers
  // (stale_folders.hpp). The destructor removes the folder unless `keep`; in a job, a process removes it if this
  // one is killed (folder_watcher.hpp). Requires: this process has one thread. Throws Error{failed}.
  explicit JournalFolder(bool keep);
  ~JournalFolder();
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // Returns whether any journal has iterations or loops, beyond processes and allocations. Throws Error.
  [[nodiscard]] bool has_iterations_or_loops() const;
  [[nodiscard]] bool has_mpi_calls() const;
  // Returns whether any journal has iterations, plans, transfers or notes that the user should see. True if one
  // cannot be read.
  [[nodiscard]] bool has_findings() const;
  // Returns whether no process has accesses or iterations because none is instrumented.
  [[nodiscard]] bool has_no_accesses() const;
  // Returns why Terrace stopped working in a process: profile::k_confined or k_limited; "" if it did in none.
  [[nodiscard]] std::string reason_terrace_stopped() const;
  // Merges the journals into a profile for each configuration and prints the summaries, as the options request.
  // `outputs` has the names of --output; without it the profile is named after `job`. `context`: facts of the run,
  // without names; `notes` are added to the profile. Throws Error if a profile cannot be written, and keeps the
  // journals then.
  void merge(const LaunchOptions& options, const ProfileOutputs& outputs, const std::filesystem::path& job,
             SummaryContext context, const std::vector<std::string>& notes = {});
  void print_location() const;  // of the journals, on standard error

 private:
  std::filesystem::path path_;
  FolderLock lock_;
  FolderWatcher watcher_;
  bool keep_;
};

}  // namespace terrace::cli
