// SPDX-License-Identifier: Apache-2.0
// Runs the launcher's periodic tasks (gauges, reports on out-of-core memory) on a thread, which waits on a
// condition variable with a timeout. See periodic_task.hpp.
#include "cli/periodic_task.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace terrace::cli {

PeriodicTask::PeriodicTask(std::chrono::duration<double> period, std::function<void()> body) {
  if (period <= period.zero()) return;
  // The thread that waits for the program forwards signals to it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, period, body = std::move(body)] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, period, [this] { return ends_; })) body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PeriodicTask::~PeriodicTask() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace terrace::cli
