// SPDX-License-Identifier: Apache-2.0
// Runs the threads that read first touches from userfaultfd(2) and call the agent's placement of data by memory
// attributes. See touch_traps.hpp.
#include "transfer/ordered/touch_traps.hpp"

#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/high_fd.hpp"
#include "core/internal_thread.hpp"

namespace terrace::transfer {

namespace {

// Arguments of a new thread; valid until `ready` is posted.
struct ThreadStart {
  TouchTraps* traps;
  void (*run)(TouchTraps*, sem_t*);
  sem_t ready;
};

void* thread_body(void* argument) {
  auto& start = *static_cast<ThreadStart*>(argument);
  start.run(start.traps, &start.ready);
  return nullptr;
}

}  // namespace

TouchTraps::TouchTraps(OnFirstTouch on_first_touch, void (*enter)(), unsigned threads) noexcept
    : on_first_touch_(std::move(on_first_touch)),
      enter_(enter),
      userfault_(0),
      stop_fd_(move_fd_high(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
  error_ = userfault_.is_available() ? stop_fd_ < 0 ? errno : 0 : userfault_.error();
  if (error_ != 0) return;
  try {
    threads_.reserve(threads);
  } catch (const std::exception&) {
    error_ = ENOMEM;
    return;
  }
  error_ = EAGAIN;  // pthread_create's error where no thread can be created
  const auto run = [](TouchTraps* traps, sem_t* ready) {
    traps->enter_();
    unshare_fd_table(traps->userfault_.fd(), traps->stop_fd_);
    sem_post(ready);  // the descriptors are protected: the program may close its copies from here on
    traps->run();
  };
  for (unsigned i = 0; i < threads; ++i) {
    ThreadStart start{this, run, {}};
    sem_init(&start.ready, 0, 0);
    pthread_t thread{};
    if (start_signal_masked_thread(thread, "terrace/order", thread_body, &start)) {
      while (sem_wait(&start.ready) != 0 && errno == EINTR) {
      }
      threads_.push_back(thread);
    }
    sem_destroy(&start.ready);
  }
}

TouchTraps::~TouchTraps() {
  stop_threads();
  if (stop_fd_ >= 0) close(stop_fd_);
}

void TouchTraps::stop_threads() noexcept {
  if (!threads_.empty()) eventfd_write(stop_fd_, 1);
  for (const auto thread : threads_) pthread_join(thread, nullptr);
  threads_.clear();
}

void TouchTraps::shut_down(std::uint64_t address, std::uint64_t size) noexcept {
  stop_threads();
  userfault_.unregister_range(address, size);
}

int TouchTraps::register_range(std::uint64_t address, std::uint64_t size) noexcept {
  return is_available() ? userfault_.register_range(address, size) : ENOSYS;
}

void TouchTraps::unregister_range(std::uint64_t address, std::uint64_t size) noexcept {
  userfault_.unregister_range(address, size);
}

// Loop of each trap thread: reads a fault and calls the handler.
void TouchTraps::run() noexcept {
  while (true) {
    std::array<pollfd, 2> files{{{userfault_.fd(), POLLIN, 0}, {stop_fd_, POLLIN, 0}}};
    if (poll(files.data(), files.size(), -1) < 0) continue;
    if (files[1].revents != 0) return;
    if ((files[0].revents & (POLLERR | POLLNVAL)) != 0) return;
    if (std::uint64_t address = 0; userfault_.next_fault(address)) on_first_touch_(align_down(address, k_page));
  }
}

}  // namespace terrace::transfer
