// SPDX-License-Identifier: Apache-2.0
// Implements the backing file of out-of-core memory: creation, space, mappings and their release. See
// spill_file.hpp.
#include "transfer/spill/spill_file.hpp"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"
#include "core/high_fd.hpp"
#include "core/size_signal.hpp"

namespace terrace::transfer {

namespace {

// Opens a new file without a name in the folder. `more`: further flags of open(2). Returns -1 with errno set.
int open_unlinked(const std::string& folder, int more) noexcept {
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | more, 0600));
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return move_fd_high(file);
  // File systems without O_TMPFILE: create a named file and unlink it at once.
  auto name = folder + "/.terrace-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | more);
  if (named >= 0) unlink(name.c_str());
  return move_fd_high(named);
}

}  // namespace

SpillFile::SpillFile(const std::string& folder) : folder_(folder) {
  fd_ = open_unlinked(folder, O_DIRECT);
  if (fd_ < 0 && errno == EINVAL) {
    direct_ = false;
    fd_ = open_unlinked(folder, 0);
  }
  if (fd_ < 0)
    throw Error(Code::failed, "no file for memory in " + folder + ": " + std::strerror(errno) +
                                  "; name a writable folder on a disk");
}

SpillFile::~SpillFile() {
  for (const int file : {fd_, cached_fd_})
    if (file >= 0) syscall(SYS_close, file);
}

int SpillFile::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  // Beyond RLIMIT_FSIZE the kernel would send SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + size > limit.rlim_cur)
    return EFBIG;
  for (;;) {
    if (fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// Extends by one last byte: ftruncate(2) would cut off concurrent writes behind `end`.
int SpillFile::extend_to(std::uint64_t end) noexcept {
  if (lseek(fd_, 0, SEEK_END) >= static_cast<off_t>(end)) return 0;  // the file position is unused
  const ScopedSigxfszBlock without;
  while (fallocate(fd_, 0, static_cast<off_t>(end - 1), 1) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP) return errno;
    // Without fallocate(2) nothing is released either, so the range is about to be mapped: no concurrent writer.
    return cached_fd_ >= 0 && pwrite(cached_fd_, "", 1, static_cast<off_t>(end - 1)) == 1 ? 0 : errno;
  }
  return 0;
}

int SpillFile::map(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept {
  if (cached_fd_ < 0) {
    char name[64];
    std::snprintf(name, sizeof name, "/proc/thread-self/fd/%d", fd_);  // the thread may have its own file table
    cached_fd_ = move_fd_high(static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC)));
    if (cached_fd_ < 0) return errno;
  }
  if (const int error = extend_to(offset + size); error != 0) return error;
  const auto got =
      syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, cached_fd_, offset);
  return got == -1 ? errno : 0;
}

int SpillFile::map_private(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept {
  const auto got = syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd_, offset);
  return got == -1 ? errno : 0;
}

std::uint64_t SpillFile::map_private_anywhere(std::uint64_t offset, std::uint64_t size) const noexcept {
  const auto got =
      syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd_, offset);
  return got == -1 ? 0 : static_cast<std::uint64_t>(got);
}

int SpillFile::make_zero(std::uint64_t offset, std::uint64_t size) noexcept {
  constexpr int k_how = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  for (;;) {
    if (fallocate(fd_, k_how, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

int SpillFile::sync_cached() noexcept { return fdatasync(cached_fd_) == 0 ? 0 : errno; }

void SpillFile::drop_cached(std::uint64_t offset, std::uint64_t size) noexcept {
  if (direct_)
    posix_fadvise(cached_fd_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

// ext4 frees no blocks behind the end of the file, where reserve() may have allocated some: extend it first.
void SpillFile::release(std::uint64_t offset, std::uint64_t size) noexcept {
  extend_to(offset + size);
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
}

}  // namespace terrace::transfer
