// The profile store: one SQLite file (`app.JOBID.terrace`) for all processes of a job, merged from their journals
// after the run. Lives in the launcher and in the analysis, never in a user's process. docs/store.md describes the
// tables; they may be read by anything that reads SQLite.
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

// PRAGMA user_version. A change that old readers cannot read raises it.
inline constexpr int k_store_version = 16;

// What the note has of a process whose journal is whole and has no end.
inline constexpr const char* k_no_end = " did not end by itself (killed, or still running)";

struct MergeSummary {
  std::string path;  // of the file written: the name that was wanted, or the next free one after it
  std::size_t processes = 0;
  std::size_t records = 0;
  std::size_t incomplete = 0;      // journals that end in a damaged record, or without the process's end
  std::vector<std::string> notes;  // also in the file's table `note`
};

// Merges journals into a new file, which appears under its name whole or not at all. A journal that was cut short
// is merged up to there and noted; one that cannot be read at all is noted. Throws Error{not_found} when no
// journal could be read, Error{failed} with path and reason when the file cannot be written.
// `notes`: what the launcher knows of the job; `terrace show` prints it.
MergeSummary merge_journals(const std::vector<std::string>& journals, const StoreName& name,
                            const std::vector<std::string>& notes = {});
// Under the next free name.
MergeSummary merge_journals(const std::vector<std::string>& journals, const std::string& out);

// Calls `visit` for every whole record of a journal. False where it cannot be read.
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
  // Opens for reading. Throws Error{not_found}, or Error{invalid} when it is not a store of a version that we
  // read.
  explicit Store(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] std::vector<StoredRun> runs() const;
  // The last loop's profile. Throws Error{not_found} when the run has no such profile.
  [[nodiscard]] Profile profile(std::int64_t run, bool exact) const;
  [[nodiscard]] machine::Machine machine(std::int64_t run) const;
  // Calibration::to_blob; empty when the run had none.
  [[nodiscard]] std::string calibration(std::int64_t run) const;
  [[nodiscard]] std::vector<StoredPlan> plans(std::int64_t run) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace terrace::profile
