// Something that is done beside the wait for a program, every so often.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace terrace::cli {

class PeriodicTask {
 public:
  // Calls `body` after each period, on a thread of its own; never where the period is 0.
  PeriodicTask(std::chrono::duration<double> period, std::function<void()> body);
  ~PeriodicTask();  // a call that is under way ends first
  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace terrace::cli
