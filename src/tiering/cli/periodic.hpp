// Something that is done beside the wait for a program, every so often.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace terrace::cli {

class Periodic {
 public:
  // Calls `body` after each period, on a thread of its own; never where the period is 0.
  Periodic(std::chrono::duration<double> period, std::function<void()> body);
  ~Periodic();  // a call that is under way ends first
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace terrace::cli
