// SPDX-License-Identifier: Apache-2.0
// Opens, checks and maps a job's ledger file, for launchers, the programs that they run and `terrace machine`. See
// mapped_page.hpp.
#include "memory/ledger/mapped_page.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace terrace::memory {

int open_ledger(const std::string& path) noexcept {
  // O_NONBLOCK: a FIFO at this path must not block the caller.
  return ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

MappedPage::MappedPage(const std::string& path, Access access) {
  const int fd = open_ledger(path);
  if (fd < 0)
    throw Error(
        errno == ENOENT ? Code::not_found : Code::failed,
        path + ": the job's ledger cannot be opened: " + std::strerror(errno) + "; start the program again");
  try {
    map(fd, path, access);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

MappedPage::MappedPage(int fd, const std::string& path, Access access) { map(fd, path, access); }

MappedPage::MappedPage(MappedPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

// Maps an open file after checking its owner, mode, size and version.
void MappedPage::map(int fd, const std::string& path, Access access) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw Error(Code::failed, path + ": " + std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 0177) != 0)
    throw Error(Code::failed,
                path + ": the job's ledger has to be a regular file of this user with mode 0600; remove it");
  if (status.st_size != static_cast<off_t>(sizeof(LedgerPage)))
    throw Error(Code::corrupt, path + ": this file is not a ledger of this version of terrace; remove it");
  const int protection = PROT_READ | (access == Access::write ? PROT_WRITE : 0);
  void* const map = ::mmap(nullptr, sizeof(LedgerPage), protection, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED)
    throw Error(Code::failed, path + ": no address space for the job's ledger; raise ulimit -v");
  page_ = static_cast<LedgerPage*>(map);
  if (load(page_->magic) == k_ledger_magic && load(page_->size) == sizeof(LedgerPage)) return;
  ::munmap(map, sizeof(LedgerPage));
  throw Error(Code::corrupt, path + ": this file is not a ledger of this version of terrace; remove it");
}

MappedPage::~MappedPage() {
  if (page_) ::munmap(page_, sizeof(LedgerPage));
}

}  // namespace terrace::memory
