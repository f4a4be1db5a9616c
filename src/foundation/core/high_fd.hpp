// SPDX-License-Identifier: Apache-2.0
// Keeps Terrace's file descriptors out of the way of the program that it runs in. Programs use small numbers
// explicitly (a shell's `exec 3<file`), which silently closes whatever has that number. Used wherever the library
// in the program opens a file that it keeps open.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "core/errno_scope.hpp"

namespace terrace {

// Moves the descriptor to a number of at least 512, or 64, with close-on-exec, and closes the original. Returns
// the original if RLIMIT_NOFILE is too low. Preserves errno.
inline int move_fd_high(int fd) noexcept {
  if (fd < 0) return fd;
  const ErrnoScope errno_scope;
  for (const int min_fd : {512, 64}) {
    const auto high = static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, min_fd));
    if (high < 0) continue;
    syscall(SYS_close, fd);
    fd = high;
    break;
  }
  return fd;
}

// Identifies the open file behind a descriptor, whose number the program may have closed and reused.
class FileIdentity {
 public:
  FileIdentity() = default;
  explicit FileIdentity(int fd) noexcept {
    struct stat status {};
    if (fstat(fd, &status) != 0) return;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    is_known_ = true;
  }
  // Returns whether the descriptor still refers to that file.
  [[nodiscard]] bool is_still(int fd) const noexcept {
    const FileIdentity now(fd);
    return is_known_ && now.is_known_ && now.device_ == device_ && now.inode_ == inode_;
  }

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_known_ = false;
};

}  // namespace terrace
