// The launcher's side of the ledgers of its job, one a configuration.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "memory/ledger/job_file.hpp"
#include "memory/ledger/view.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

class JobLedgers {
 public:
  // Makes them, and says in the session where they are. On real memory the job has one on this node, whichever
  // launchers it has; in virtual time those of this launch are in its folder. `sentences`: that it is not shared
  // with other launchers, and why. Throws Error.
  JobLedgers(runtime::Session& session, const std::filesystem::path& folder, std::vector<std::string>& sentences);
  // What they say now.
  [[nodiscard]] std::vector<memory::LedgerView> views() const;

 private:
  std::vector<std::unique_ptr<memory::JobFile>> files_;
};

}  // namespace terrace::cli
