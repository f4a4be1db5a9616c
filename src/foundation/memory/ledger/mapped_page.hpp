// SPDX-License-Identifier: Apache-2.0
// Maps a ledger's file into memory. Refuses anything but a regular file of this user with mode 0600 that holds a
// whole ledger of this version. Used by launchers, by the programs that they run, and by `terrace machine`.
#pragma once

#include <string>

#include "memory/ledger/page.hpp"

namespace terrace::memory {

class MappedPage {
 public:
  enum class Access : std::uint8_t { read, write };
  // Throws Error{not_found} if the file does not exist, Error{corrupt} if it is no ledger, Error{failed} if others
  // may access it or the system refuses.
  MappedPage(const std::string& path, Access access);
  // Borrows the descriptor of an open ledger; `path` is used in error messages only.
  MappedPage(int fd, const std::string& path, Access access);
  ~MappedPage();
  MappedPage(MappedPage&& other) noexcept;
  MappedPage& operator=(MappedPage&&) = delete;
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;
  [[nodiscard]] LedgerPage& page() const { return *page_; }

 private:
  void map(int fd, const std::string& path, Access access);

  LedgerPage* page_ = nullptr;
};

// Opens a ledger for reading and writing, without following a symbolic link in the last component. Returns -1 and
// sets errno on failure.
int open_ledger(const std::string& path) noexcept;

}  // namespace terrace::memory
