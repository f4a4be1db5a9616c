// A ledger's file in memory. It is refused unless it is a regular file of this user's that nobody else may read,
// and a whole ledger of this version.
#pragma once

#include <string>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

class MappedPage {
 public:
  enum class Rights : std::uint8_t { read, write };
  // Throws Error{not_found} where there is no such file, Error{corrupt} where it is no ledger, Error{failed} where
  // it is not this user's alone or the system refuses.
  MappedPage(const std::string& path, Rights rights);
  // A descriptor of such a file, which stays open; `path` is for errors.
  MappedPage(int file, const std::string& path, Rights rights);
  ~MappedPage();
  MappedPage(MappedPage&& other) noexcept;
  MappedPage& operator=(MappedPage&&) = delete;
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;
  [[nodiscard]] LedgerPage& page() const { return *page_; }

 private:
  void map(int file, const std::string& path, Rights rights);

  LedgerPage* page_ = nullptr;
};

// Never follows a link in the last place of the path. -1, and errno.
int open_ledger(const std::string& path) noexcept;

}  // namespace terrace::memory
