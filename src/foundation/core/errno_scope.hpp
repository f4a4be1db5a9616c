// SPDX-License-Identifier: Apache-2.0
// Preserves errno around Terrace's code that runs in the program's calls, and returns errors by errno. Used by the
// interposed functions and by the parts that they call.
#pragma once

#include <cerrno>

namespace terrace {

// Restores errno at the end of a scope. Async-signal-safe.
class ErrnoScope {
 public:
  ErrnoScope() = default;
  ~ErrnoScope() { errno = saved_; }
  ErrnoScope(const ErrnoScope&) = delete;
  ErrnoScope& operator=(const ErrnoScope&) = delete;

 private:
  int saved_ = errno;
};

// Returns 0 if `error` is 0, else -1 with errno set to it, as the C library does.
inline int return_by_errno(int error) noexcept {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace terrace
