// SPDX-License-Identifier: Apache-2.0
// Runs a function periodically on a thread of its own, while the launcher waits for the program: it writes gauges
// and reports on out-of-core memory.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace terrace::cli {

class PeriodicTask {
 public:
  // Starts the thread, which calls `body` after each period; starts none if the period is 0. The thread blocks all
  // signals.
  PeriodicTask(std::chrono::duration<double> period, std::function<void()> body);
  // Waits for a call in progress, and ends the thread.
  ~PeriodicTask();
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace terrace::cli
