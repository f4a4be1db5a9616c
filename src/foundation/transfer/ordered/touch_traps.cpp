// See touch_traps.hpp.
#include "transfer/ordered/touch_traps.hpp"

#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"

namespace terrace::transfer {

namespace {

// What a new thread needs, until it has taken it.
struct Beginning {
  TouchTraps* traps;
  void (*serve)(TouchTraps*, sem_t*);
  sem_t ready;
};

void* thread_body(void* given) {
  auto& beginning = *static_cast<Beginning*>(given);
  beginning.serve(beginning.traps, &beginning.ready);
  return nullptr;
}

}  // namespace

TouchTraps::TouchTraps(Handler& handler, unsigned threads) noexcept
    : handler_(handler), userfault_(0), stop_(move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  error_ = userfault_.is_there() ? stop_ < 0 ? errno : 0 : userfault_.error();
  if (error_ != 0) return;
  try {
    threads_.reserve(threads);
  } catch (const std::exception&) {
    error_ = ENOMEM;
    return;
  }
  error_ = EAGAIN;  // what a system without room for a thread says
  const auto serve = [](TouchTraps* traps, sem_t* ready) {
    traps->handler_.begin_thread();
    unshare_fd_table(traps->userfault_.file(), traps->stop_);
    sem_post(ready);  // from here on the program may close what it likes
    traps->serve();
  };
  for (unsigned i = 0; i < threads; ++i) {
    Beginning beginning{this, serve, {}};
    sem_init(&beginning.ready, 0, 0);
    pthread_t thread{};
    if (start_signal_masked_thread(thread, "terrace/order", thread_body, &beginning)) {
      while (sem_wait(&beginning.ready) != 0 && errno == EINTR) {
      }
      threads_.push_back(thread);
    }
    sem_destroy(&beginning.ready);
  }
}

TouchTraps::~TouchTraps() {
  end_threads();
  if (stop_ >= 0) close(stop_);
}

void TouchTraps::end_threads() noexcept {
  if (!threads_.empty()) eventfd_write(stop_, 1);
  for (const auto thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void TouchTraps::end(std::uint64_t address, std::uint64_t size) noexcept {
  end_threads();
  userfault_.forget(address, size);
}

int TouchTraps::watch(std::uint64_t address, std::uint64_t size) noexcept {
  return is_there() ? userfault_.watch(address, size) : ENOSYS;
}

void TouchTraps::forget(std::uint64_t address, std::uint64_t size) noexcept { userfault_.forget(address, size); }

void TouchTraps::serve() noexcept {
  while (true) {
    std::array<pollfd, 2> files{{{userfault_.file(), POLLIN, 0}, {stop_, POLLIN, 0}}};
    if (poll(files.data(), files.size(), -1) < 0) continue;
    if (files[1].revents != 0) return;
    if ((files[0].revents & (POLLERR | POLLNVAL)) != 0) return;
    if (std::uint64_t address = 0; userfault_.next_touch(address)) handler_.touched(align_down(address, k_page));
  }
}

}  // namespace terrace::transfer
