// A write beyond a process's limit of a file's size (RLIMIT_FSIZE) fails with EFBIG, and sends the thread SIGXFSZ,
// which ends the process unless it says otherwise.
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace terrace {

// While there is one, the calling thread gets no SIGXFSZ: the call fails with EFBIG, and that is all. Keeps errno.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() noexcept {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    const auto size = the_signal();
    pthread_sigmask(SIG_BLOCK, &size, &before_);
  }
  ~WithoutSizeSignal() {
    const auto error = errno;
    const auto size = the_signal();
    constexpr timespec k_now{0, 0};
    // One that came before is the program's own.
    while (!was_pending_ && sigtimedwait(&size, nullptr, &k_now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutSizeSignal(const WithoutSizeSignal&) = delete;
  WithoutSizeSignal& operator=(const WithoutSizeSignal&) = delete;

 private:
  static sigset_t the_signal() noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
  }

  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace terrace
