// SPDX-License-Identifier: Apache-2.0
// Suppresses SIGXFSZ, which the kernel sends when a write exceeds the file size limit (RLIMIT_FSIZE) and which
// ends the process by default. The write then just fails with EFBIG. Used for atomic files, backing files and
// checkpoints.
#pragma once

#include <signal.h>

#include <ctime>

#include "core/errno_scope.hpp"

namespace terrace {

// Blocks SIGXFSZ for the calling thread during its lifetime, and discards those that arrived. Preserves errno.
class ScopedSigxfszBlock {
 public:
  ScopedSigxfszBlock() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    const auto size = sigxfsz_set();
    pthread_sigmask(SIG_BLOCK, &size, &before_);
  }
  ~ScopedSigxfszBlock() {
    const ErrnoScope errno_scope;
    const auto size = sigxfsz_set();
    constexpr timespec k_now{0, 0};
    // A signal that was pending before is the program's own: leave it.
    while (!was_pending_ && sigtimedwait(&size, nullptr, &k_now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ScopedSigxfszBlock(const ScopedSigxfszBlock&) = delete;
  ScopedSigxfszBlock& operator=(const ScopedSigxfszBlock&) = delete;

 private:
  static sigset_t sigxfsz_set() noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
  }

  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace terrace
