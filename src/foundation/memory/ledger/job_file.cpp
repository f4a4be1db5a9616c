// SPDX-License-Identifier: Apache-2.0
// Creates, joins and removes the ledger file of a job for its launchers (each `terrace run` of a batch job). A
// launcher holds a shared flock(2) on the file; a process that gets the exclusive lock knows that no launcher is
// left. See job_file.hpp.
#include "memory/ledger/job_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>

#include "core/error.hpp"
#include "core/shared_mapping.hpp"
#include "memory/ledger/dead_slots.hpp"
#include "memory/ledger/folder.hpp"

namespace terrace::memory {

namespace {

constexpr int k_max_attempts = 100;  // to join a file that others create and remove concurrently

void copy_name(std::span<char> to, const std::string& from) {
  const auto size = std::min(from.size(), to.size() - 1);
  std::memcpy(to.data(), from.data(), size);
}

// Converts a job's description to the form in which the ledger stores it.
LedgerDescription make_description(const JobDescription& given) {
  LedgerDescription description;
  std::memset(&description, 0, sizeof description);
  copy_name(description.job, given.job);
  if (given.places.size() > k_ledger_places)
    throw Error(Code::unsupported, "the machine has " + std::to_string(given.places.size()) +
                                       " places, and the job's ledger supports at most " +
                                       std::to_string(k_ledger_places) + "; name one with fewer by --machine");
  description.places = static_cast<std::uint32_t>(given.places.size());
  for (std::size_t i = 0; i < given.places.size(); ++i) {
    copy_name(description.place[i].name, given.places[i].name);
    description.place[i].budget = given.places[i].budget.value;
    description.place[i].granule = given.places[i].granule.value;
  }
  description.check = checksum_of(description);
  return description;
}

// Returns whether the path still names the open file.
bool is_there(int fd, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// Returns whether a process has mapped the file, which cannot be read as a ledger.
bool is_mapped(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size == 0) return false;
  void* const map = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return true;
  const bool mapped = is_writable_by_others(map, this_process().process, {}, 0);
  ::munmap(map, 1);
  return mapped;
}

// Returns whether a live process owns a slot of the ledger, or may own one.
bool has_process(int fd, const std::string& path) {
  try {
    const MappedPage mapped(fd, path, MappedPage::Access::write);
    auto& page = mapped.page();
    if (release_dead_slots(page, this_process(), true)) return true;
    for (std::size_t slot = 0; slot < used_slots(page); ++slot)
      if (read_owner(page, slot).kind == SlotOwner::Kind::owned) return true;
    return false;
  } catch (const Error& error) {
    return error.code() != Code::corrupt || is_mapped(fd);
  }
}

// Removes the file if no launcher holds it and no live process owns a slot. Returns whether it is gone.
bool remove_if_stale(int fd, const std::string& path) {
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_there(fd, path) || has_process(fd, path)) return false;
  ::unlink(path.c_str());
  return true;
}

}  // namespace

JobFile::JobFile(const std::string& folder, const JobDescription& description)
    : path_(folder + "/" + ledger_file_name(description.job)) {
  for (int attempt = 0; attempt < k_max_attempts; ++attempt)
    if (create(description) || join(description)) return;
  // The existing ledger has other places or budgets.
  path_ = folder + "/" + ledger_file_name(description.job + "-" + std::to_string(::getpid()));
  ::unlink(path_.c_str());  // left by a dead process with the same number
  if (!create(description))
    throw Error(Code::failed, path_ + ": the job's ledger cannot be created, because this file exists; remove it");
}

// Writes a temporary file and links it to its path once it is whole. Returns false if the path exists.
bool JobFile::create(const JobDescription& description) {
  const auto temporary = ledger_temporary_path(path_);
  ::unlink(temporary.c_str());
  fd_ = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  void* const map = fd_ >= 0 && ::fchmod(fd_, 0600) == 0 ? map_shared(fd_, sizeof(LedgerPage)) : nullptr;
  const bool made = map != nullptr;
  const int error = errno;
  bool placed = false;
  if (made) {
    auto* const page = new (map) LedgerPage;
    page->description = make_description(description);
    ::munmap(map, sizeof(LedgerPage));
    placed = ::flock(fd_, LOCK_SH | LOCK_NB) == 0 && ::link(temporary.c_str(), path_.c_str()) == 0;
  }
  ::unlink(temporary.c_str());
  if (placed) {
    page_.emplace(fd_, path_, MappedPage::Access::read);
    return true;
  }
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!made)
    throw Error(Code::failed, path_ + ": the job's ledger cannot be created: " + std::strerror(error) +
                                  "; check the folder's mode and free space");
  return false;
}

// Returns false if the file does not exist, or was stale and has been removed; the caller then creates it.
bool JobFile::join(const JobDescription& description) {
  const int fd = open_ledger(path_);
  if (fd < 0) {
    if (errno == ENOENT) return false;
    throw Error(Code::failed,
                path_ + ": the job's ledger cannot be opened: " + std::strerror(errno) + "; remove this file");
  }
  if (remove_if_stale(fd, path_) || ::flock(fd, LOCK_SH | LOCK_NB) != 0 || !is_there(fd, path_)) {
    ::close(fd);
    return false;
  }
  std::optional<MappedPage> mapped;
  try {
    mapped.emplace(fd, path_, MappedPage::Access::read);
  } catch (const Error& error) {
    ::close(fd);
    if (error.code() == Code::corrupt) return false;
    throw;
  }
  const auto expected = make_description(description);
  if (std::memcmp(&mapped->page().description, &expected, sizeof expected) != 0) {
    ::close(fd);
    return false;
  }
  fd_ = fd;
  page_.emplace(std::move(*mapped));
  return true;
}

JobFile::~JobFile() {
  page_.reset();
  remove_if_stale(fd_, path_);
  ::close(fd_);
}

void remove_stale_ledgers() {
  remove_stale_temporaries();
  for (const auto& path : ledger_paths()) {
    const int fd = open_ledger(path);
    if (fd < 0) continue;
    remove_if_stale(fd, path);
    ::close(fd);
  }
}

}  // namespace terrace::memory
