// A launcher's hold on the ledger of its job. The file is there as long as a launcher holds it: several of one job
// on one node share it, and the last one removes it. The system lets go for a launcher that dies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "memory/ledger/mapped_page.hpp"

namespace terrace::memory {

// What the ledger is for.
struct JobTitle {
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
  // Makes the job's ledger in the folder, or takes part in it where it is there. A file that is left over and in
  // which no process lives is made anew. Where the job has one for other places or budgets, this launcher gets one
  // of its own, with its process in the name. Throws Error.
  JobFile(const std::string& folder, const JobTitle& title);
  ~JobFile();
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const LedgerPage& page() const { return page_->page(); }

 private:
  bool join(const JobTitle& title);
  bool create(const JobTitle& title);

  std::string path_;
  int file_ = -1;
  std::optional<MappedPage> page_;
};

// Removes files in which no process lives and that no launcher holds.
void remove_stale_ledgers();

}  // namespace terrace::memory
