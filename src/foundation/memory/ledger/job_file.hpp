// SPDX-License-Identifier: Apache-2.0
// Creates or joins the ledger file of a job on behalf of a launcher. The launchers of a job on one node share the
// file, and the last one removes it. Each holds a shared flock(2), which the kernel releases when a launcher dies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "memory/ledger/mapped_page.hpp"

namespace terrace::memory {

// Names a job and the budgets of its places.
struct JobDescription {
  struct Place {
    std::string name;
    Bytes budget;
    Bytes granule;
  };
  std::string job;
  std::vector<Place> places;
};

class JobFile {
 public:
  // Creates the job's ledger in the folder, or joins it if it exists. Replaces a stale file, one in which no
  // process is alive. If the existing ledger has other places or budgets, creates a separate one with this
  // process's number in its name. Throws Error.
  JobFile(const std::string& folder, const JobDescription& description);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const LedgerPage& page() const { return page_->page(); }

 private:
  bool join(const JobDescription& description);
  bool create(const JobDescription& description);

  std::string path_;
  int fd_ = -1;
  std::optional<MappedPage> page_;
};

// Removes ledgers that no launcher holds and in which no process is alive.
void remove_stale_ledgers();

}  // namespace terrace::memory
