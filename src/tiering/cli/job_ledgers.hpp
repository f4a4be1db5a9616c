// SPDX-License-Identifier: Apache-2.0
// Creates or joins the ledgers of the job on this node, one for each configuration. A ledger (memory/ledger.hpp)
// accounts for the memory that the job's processes hold. The launcher owns it during a run.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "memory/ledger/job_file.hpp"
#include "memory/ledger/view.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Owns the ledger files of a launch.
class JobLedgers {
 public:
  // Creates the ledgers and stores their paths in `session`. On real memory all launchers of a job on this node
  // share one; in virtual time the ledgers are in `folder`, which is this launch's own. Adds to `sentences` why a
  // ledger is not shared with other launchers, if so. Throws Error.
  JobLedgers(runtime::Session& session, const std::filesystem::path& folder, std::vector<std::string>& sentences);
  // Returns a snapshot of each ledger.
  [[nodiscard]] std::vector<memory::LedgerView> views() const;

 private:
  std::vector<std::unique_ptr<memory::JobFile>> files_;
};

}  // namespace terrace::cli
