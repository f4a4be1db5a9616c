// SPDX-License-Identifier: Apache-2.0
// Reads and writes files of /proc and /sys by direct system calls, for the runtime and its observers. See
// small_file.hpp.
#include "core/small_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace terrace {

bool read_small_file(const char* path, char* text, std::size_t size) noexcept {
  text[0] = '\0';
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  const auto got = syscall(SYS_read, file, text, size - 1);
  syscall(SYS_close, file);
  text[std::max(got, 0L)] = '\0';
  return got > 0;
}

int write_small_file(const char* path, const char* text) noexcept {
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC));
  if (file < 0) return -errno;
  const auto size = std::strlen(text);
  const auto written = syscall(SYS_write, file, text, size);
  const int error = written < 0 ? errno : static_cast<std::size_t>(written) == size ? 0 : EIO;
  syscall(SYS_close, file);
  return -error;
}

}  // namespace terrace
