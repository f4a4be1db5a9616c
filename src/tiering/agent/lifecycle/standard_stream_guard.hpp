// SPDX-License-Identifier: Apache-2.0
// Prevents that a file that Terrace opens gets descriptor 0, 1 or 2 in a program that was started without standard
// streams: occupies the free ones of these numbers during its lifetime. Used at start-up.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "core/errno_scope.hpp"

namespace terrace::agent {

class StandardStreamGuard {
 public:
  StandardStreamGuard() noexcept {
    const ErrnoScope errno_scope;
    for (int number = 0; number < k_streams; ++number)
      if (fcntl(number, F_GETFD) < 0 && errno == EBADF) occupy();
  }
  ~StandardStreamGuard() {
    for (int i = 0; i < count_; ++i) syscall(SYS_close, taken_[static_cast<std::size_t>(i)]);
  }
  StandardStreamGuard(const StandardStreamGuard&) = delete;
  StandardStreamGuard& operator=(const StandardStreamGuard&) = delete;

 private:
  static constexpr int k_streams = 3;
  void occupy() noexcept {
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC));
    if (file >= 0) taken_[static_cast<std::size_t>(count_++)] = file;
  }

  std::array<int, k_streams> taken_{};
  int count_ = 0;
};

}  // namespace terrace::agent
