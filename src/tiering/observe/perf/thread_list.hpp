// SPDX-License-Identifier: Apache-2.0
// Lists the threads of the own process from /proc/self/task for the memory sampler, without an allocation.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace terrace::observe {

// Calls each(tid) for every thread.
template <class Each>
void for_each_thread(Each each) {
  const auto folder =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder < 0) return;
  alignas(8) char entries[4096];
  for (long got = 0; (got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;) {
    for (long at = 0; at < got;) {
      // struct linux_dirent64: inode, offset, length, type, name
      std::uint16_t length = 0;
      std::memcpy(&length, entries + at + 16, sizeof length);
      int tid = 0;
      for (const char* name = entries + at + 19; *name >= '0' && *name <= '9'; ++name)
        tid = tid * 10 + (*name - '0');
      if (tid > 0) each(tid);
      at += length;
    }
  }
  syscall(SYS_close, folder);
}

}  // namespace terrace::observe
