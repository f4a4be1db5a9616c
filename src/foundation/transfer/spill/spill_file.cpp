// See spill_file.hpp.
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

int open_unnamed(const std::string& folder, int more) noexcept {
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | more, 0600));
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return move_fd_high(file);
  // A file system without such files: a name that is gone at once.
  auto name = folder + "/.terrace-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | more);
  if (named >= 0) unlink(name.c_str());
  return move_fd_high(named);
}

}  // namespace

SpillFile::SpillFile(const std::string& folder) : folder_(folder) {
  file_ = open_unnamed(folder, O_DIRECT);
  if (file_ < 0 && errno == EINVAL) {
    direct_ = false;
    file_ = open_unnamed(folder, 0);
  }
  if (file_ < 0) throw Error(Code::failed, "no file for memory in " + folder + ": " + std::strerror(errno));
}

SpillFile::~SpillFile() {
  for (const int file : {file_, cached_})
    if (file >= 0) syscall(SYS_close, file);
}

int SpillFile::reserve(std::uint64_t offset, std::uint64_t size) noexcept {
  // Beyond the process's limit the kernel would send SIGXFSZ.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + size > limit.rlim_cur)
    return EFBIG;
  for (;;) {
    if (fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// By a last byte: ftruncate(2) would cut off what is written behind `end` by the time that it is carried out.
int SpillFile::reach(std::uint64_t end) noexcept {
  if (lseek(file_, 0, SEEK_END) >= static_cast<off_t>(end)) return 0;  // nobody uses the position
  const ScopedSigxfszBlock without;
  while (fallocate(file_, 0, static_cast<off_t>(end - 1), 1) != 0) {
    if (errno == EINTR) continue;
    if (errno != EOPNOTSUPP) return errno;
    // A file system that takes no room gives none back: the range is to be mapped, and nobody else writes there.
    return cached_ >= 0 && pwrite(cached_, "", 1, static_cast<off_t>(end - 1)) == 1 ? 0 : errno;
  }
  return 0;
}

int SpillFile::map(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept {
  if (cached_ < 0) {
    char name[64];
    std::snprintf(name, sizeof name, "/proc/thread-self/fd/%d", file_);  // the thread may have files of its own
    cached_ = move_fd_high(static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC)));
    if (cached_ < 0) return errno;
  }
  if (const int error = reach(offset + size); error != 0) return error;
  const auto got =
      syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, cached_, offset);
  return got == -1 ? errno : 0;
}

int SpillFile::map_private(std::uint64_t address, std::uint64_t offset, std::uint64_t size) noexcept {
  const auto got = syscall(SYS_mmap, address, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, offset);
  return got == -1 ? errno : 0;
}

std::uint64_t SpillFile::map_copy(std::uint64_t offset, std::uint64_t size) const noexcept {
  const auto got =
      syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_, offset);
  return got == -1 ? 0 : static_cast<std::uint64_t>(got);
}

int SpillFile::make_zero(std::uint64_t offset, std::uint64_t size) noexcept {
  constexpr int k_how = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
  for (;;) {
    if (fallocate(file_, k_how, static_cast<off_t>(offset), static_cast<off_t>(size)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

int SpillFile::sync_cached() noexcept { return fdatasync(cached_) == 0 ? 0 : errno; }

void SpillFile::drop_cached(std::uint64_t offset, std::uint64_t size) noexcept {
  if (direct_) posix_fadvise(cached_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
}

// ext4 gives nothing back that lies behind the end of the file, where reserve() may have taken room.
void SpillFile::release(std::uint64_t offset, std::uint64_t size) noexcept {
  reach(offset + size);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
}

}  // namespace terrace::transfer
