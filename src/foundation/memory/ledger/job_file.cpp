// See job_file.hpp. A launcher holds a shared flock(2) on the file; who gets it alone knows that no launcher is
// left.
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

constexpr int k_attempts = 100;  // of finding a file that others make and remove at the same time

void copy_name(std::span<char> to, const std::string& from) {
  const auto size = std::min(from.size(), to.size() - 1);
  std::memcpy(to.data(), from.data(), size);
}

LedgerTitle title_of(const JobTitle& given) {
  LedgerTitle title;
  std::memset(&title, 0, sizeof title);
  copy_name(title.job, given.job);
  if (given.places.size() > k_ledger_places)
    throw Error(Code::unsupported, "the machine has " + std::to_string(given.places.size()) +
                                       " places; a ledger keeps accounts of at most " +
                                       std::to_string(k_ledger_places));
  title.places = static_cast<std::uint32_t>(given.places.size());
  for (std::size_t i = 0; i < given.places.size(); ++i) {
    copy_name(title.place[i].name, given.places[i].name);
    title.place[i].budget = given.places[i].budget.value;
    title.place[i].granule = given.places[i].granule.value;
  }
  title.check = check_of(title);
  return title;
}

bool is_there(int file, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return ::fstat(file, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// Of what cannot be read as a ledger, a process that has it mapped.
bool is_mapped(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || status.st_size == 0) return false;
  void* const map = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) return true;
  const bool mapped = others_can_write(map, this_process().process, {}, 0);
  ::munmap(map, 1);
  return mapped;
}

bool has_process(int file, const std::string& path) {
  try {
    const MappedPage mapped(file, path, MappedPage::Rights::write);
    auto& page = mapped.page();
    if (free_dead_slots(page, this_process(), true)) return true;
    for (std::size_t slot = 0; slot < used_slots(page); ++slot)
      if (read_owner(page, slot).kind == SlotOwner::Kind::owned) return true;
    return false;
  } catch (const Error& error) {
    return error.code() != Code::corrupt || is_mapped(file);
  }
}

// Whether the file is gone afterwards, because nobody holds it and nobody lives in it.
bool remove_if_stale(int file, const std::string& path) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 || !is_there(file, path) || has_process(file, path)) return false;
  ::unlink(path.c_str());
  return true;
}

}  // namespace

JobFile::JobFile(const std::string& folder, const JobTitle& title)
    : path_(folder + "/" + ledger_file_name(title.job)) {
  for (int attempt = 0; attempt < k_attempts; ++attempt)
    if (create(title) || join(title)) return;
  // It is another's.
  path_ = folder + "/" + ledger_file_name(title.job + "-" + std::to_string(::getpid()));
  ::unlink(path_.c_str());  // of a process that had this one's number
  if (!create(title)) throw Error(Code::failed, path_ + ": the ledger cannot be made");
}

// It has its place when it is whole. False where there is one already.
bool JobFile::create(const JobTitle& title) {
  const auto beside = ledger_part_name(path_);
  ::unlink(beside.c_str());
  file_ = ::open(beside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  void* const map = file_ >= 0 && ::fchmod(file_, 0600) == 0 ? map_shared(file_, sizeof(LedgerPage)) : nullptr;
  const bool made = map != nullptr;
  const int error = errno;
  bool placed = false;
  if (made) {
    auto* const page = new (map) LedgerPage;
    page->title = title_of(title);
    ::munmap(map, sizeof(LedgerPage));
    placed = ::flock(file_, LOCK_SH | LOCK_NB) == 0 && ::link(beside.c_str(), path_.c_str()) == 0;
  }
  ::unlink(beside.c_str());
  if (placed) {
    page_.emplace(file_, path_, MappedPage::Rights::read);
    return true;
  }
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  if (!made) throw Error(Code::failed, path_ + ": the ledger cannot be made: " + std::strerror(error));
  return false;
}

// False where it is gone, or was stale and is gone now: then there is room for another.
bool JobFile::join(const JobTitle& title) {
  const int file = open_ledger(path_);
  if (file < 0) {
    if (errno == ENOENT) return false;
    throw Error(Code::failed, path_ + ": the ledger cannot be opened: " + std::strerror(errno));
  }
  if (remove_if_stale(file, path_) || ::flock(file, LOCK_SH | LOCK_NB) != 0 || !is_there(file, path_)) {
    ::close(file);
    return false;
  }
  std::optional<MappedPage> mapped;
  try {
    mapped.emplace(file, path_, MappedPage::Rights::read);
  } catch (const Error& error) {
    ::close(file);
    if (error.code() == Code::corrupt) return false;
    throw;
  }
  const auto wanted = title_of(title);
  if (std::memcmp(&mapped->page().title, &wanted, sizeof wanted) != 0) {
    ::close(file);
    return false;
  }
  file_ = file;
  page_.emplace(std::move(*mapped));
  return true;
}

JobFile::~JobFile() {
  page_.reset();
  remove_if_stale(file_, path_);
  ::close(file_);
}

void remove_stale_ledgers() {
  remove_left_parts();
  for (const auto& path : ledger_paths()) {
    const int file = open_ledger(path);
    if (file < 0) continue;
    remove_if_stale(file, path);
    ::close(file);
  }
}

}  // namespace terrace::memory
