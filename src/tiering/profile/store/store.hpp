// SPDX-License-Identifier: Apache-2.0
// Declares the profile store: one SQLite file (`app.JOBID.terrace`) for all processes of a job, merged from their
// journals after the run. Used by the launcher and by analysis tools, never in a user's process.
// docs/reference/store.md describes the tables, which any SQLite client may read. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/journal.hpp"
#include "core/plan.hpp"
#include "machine/machine.hpp"
#include "profile/profile.hpp"
#include "profile/store/store_name.hpp"

namespace terrace::profile {

// Value of PRAGMA user_version; incremented by incompatible changes.
inline constexpr int k_store_version = 19;

// Text of the note on a process whose journal is complete but has no end record.
inline constexpr const char* k_no_end = " did not end by itself (killed, or still running)";

struct MergeSummary {
  std::string path;  // of the file written: the requested name, or the next free one
  std::size_t processes = 0;
  std::size_t records = 0;
  std::size_t incomplete = 0;      // journals with a damaged record or without an end record
  std::vector<std::string> notes;  // also in the file's table `note`
  bool completes_job = true;       // false: other ranks of the MPI job have not ended
  bool has_first_loss = false;     // a process did not end by itself, before any other one of the MPI job
};

// Merges journals into a new file, which appears under its name atomically. A truncated journal is merged up to
// the damage and noted; an unreadable one is noted. Throws Error{not_found} when no journal could be read,
// Error{failed} with path and reason when the file cannot be written. `notes`: the launcher's notes on the job,
// which `terrace show` prints. `job`: the MPI job whose ranks have a launcher each; their journals are added to
// one profile, which the first launcher writes. "": none.
MergeSummary merge_journals(const std::vector<std::string>& journals, const StoreName& name,
                            const std::vector<std::string>& notes = {}, const std::string& job = {});
// Does the same under the next free name.
MergeSummary merge_journals(const std::vector<std::string>& journals, const std::string& out);

// Calls `visit` for every complete record of a journal. Returns false if the journal cannot be read.
bool visit_journal(const std::string& path, const std::function<void(const JournalRecord&)>& visit);

struct StoredRun {
  std::int64_t id = 0;
  std::uint32_t process = 0;
  std::string program;
  std::string backend;
  std::string mode;
  std::size_t sampled_iterations = 0;
  std::size_t exact_iterations = 0;
};

struct StoredPlan {
  Plan plan;
  Seconds at;
  std::string why;
};

class Store {
 public:
  // Opens a store for reading. Throws Error{not_found}, or Error{invalid} for another file or store version.
  explicit Store(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] std::vector<StoredRun> runs() const;
  // Returns the profile of the run's last loop. Throws Error{not_found} if there is none.
  [[nodiscard]] Profile profile(std::int64_t run, bool exact) const;
  [[nodiscard]] machine::Machine machine(std::int64_t run) const;
  // Returns the bytes of Calibration::to_blob; empty if the run had none.
  [[nodiscard]] std::string calibration(std::int64_t run) const;
  [[nodiscard]] std::vector<StoredPlan> plans(std::int64_t run) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace terrace::profile
