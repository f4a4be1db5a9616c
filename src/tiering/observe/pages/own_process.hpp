// SPDX-License-Identifier: Apache-2.0
// Provides helpers of the page watches: detection of a fork, and pages for a trial.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "observe/page_watch.hpp"

namespace terrace::observe {

inline std::uint64_t page_size() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

// Remembers the process in which it was created.
class OwnProcess {
 public:
  // Returns false in a child of fork.
  [[nodiscard]] bool is_current() const noexcept { return syscall(SYS_getpid) == pid_; }
  [[nodiscard]] long pid() const noexcept { return pid_; }

 private:
  long pid_ = syscall(SYS_getpid);
};

// Closes a descriptor if /proc shows this name for it: the program may have closed it together with all unknown
// descriptors, and have a file of its own by that number now.
inline void close_if_called(int file, const char* name) noexcept {
  char link[32], called[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const auto size = syscall(SYS_readlinkat, AT_FDCWD, link, called, sizeof called - 1);
  if (size > 0 && std::strlen(name) == static_cast<std::size_t>(size) &&
      std::memcmp(called, name, static_cast<std::size_t>(size)) == 0)
    syscall(SYS_close, file);
}

// Maps small pages in a mapping of their own and writes them once. By raw system calls: the program's mmap may be
// interposed.
class TrialPages {
 public:
  explicit TrialPages(std::uint64_t pages) noexcept : page_(page_size()), whole_((pages + 2) * page_) {
    const auto map = syscall(SYS_mmap, nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    if (map == -1) return;
    map_ = reinterpret_cast<char*>(map);  // NOLINT(performance-no-int-to-ptr)
    syscall(SYS_madvise, map_, whole_, MADV_NOHUGEPAGE);
    if (syscall(SYS_mprotect, map_ + page_, pages * page_, PROT_READ | PROT_WRITE) != 0) {
      syscall(SYS_munmap, map_, whole_);
      map_ = nullptr;
      return;
    }
    std::memset(map_ + page_, 1, pages * page_);
  }
  ~TrialPages() {
    if (map_) syscall(SYS_munmap, map_, whole_);
  }
  TrialPages(const TrialPages&) = delete;
  TrialPages& operator=(const TrialPages&) = delete;

  [[nodiscard]] bool is_mapped() const noexcept { return map_ != nullptr; }
  [[nodiscard]] volatile char* page(std::uint64_t number) const noexcept { return map_ + (1 + number) * page_; }
  [[nodiscard]] WatchedRange range() const noexcept {
    const auto begin = reinterpret_cast<std::uint64_t>(map_);
    return {begin + page_, begin + whole_ - page_};
  }

 private:
  std::uint64_t page_, whole_;
  char* map_ = nullptr;
};

// Tests a watch on two pages: first none is used, then one is written. Returns "" where the watch reports that,
// else what it reported.
inline std::string try_watch(PageWatch& watch, const char* how) {
  const TrialPages pages(2);
  if (!pages.is_mapped()) return std::string(how) + ": no memory for a trial";
  const WatchedRange ranges[] = {pages.range()};
  std::uint64_t before[1] = {}, after[1] = {};
  watch.begin(ranges);
  watch.read(ranges, before);
  *pages.page(1) = 2;
  watch.read(ranges, after);
  if (before[0] == 0 && after[0] == page_size()) return {};
  const auto said = [](std::uint64_t bytes) {
    return bytes == PageWatch::k_unknown ? std::string("nothing") : std::to_string(bytes) + " bytes";
  };
  return std::string(how) + " reports " + said(before[0]) + " for untouched pages and " + said(after[0]) +
         " for one written page";
}

}  // namespace terrace::observe
