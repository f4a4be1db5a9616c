// SPDX-License-Identifier: Apache-2.0
// Implements a background thread that sleeps most of the time and can be stopped. The monitors of uninstrumented
// programs run on it: PageUseMonitor and FunctionEntryMonitor.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "core/internal_thread.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

class HelperThread {
 public:
  HelperThread() = default;
  ~HelperThread() { end(); }
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // Starts the thread, which runs `body`. The body must not throw, and must return once sleep() is false. Called
  // at most once.
  void begin(const char* name, std::function<void()> body) noexcept {
    body_ = std::move(body);
    is_running_ = start_signal_masked_thread(thread_, name, run, this);
  }
  // Sleeps. Called by the thread itself. Returns false if the thread is to end.
  bool sleep(double seconds) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; });
  }
  // Stops the thread and waits for it.
  void end() noexcept {
    if (!std::exchange(is_running_, false)) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* self) {
    observe::t_thread.enter_runtime();  // for good: what this thread calls is never traced or placed
    static_cast<HelperThread*>(self)->body_();
    return nullptr;
  }

  std::function<void()> body_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool is_running_ = false;
  pthread_t thread_{};
};

}  // namespace terrace::agent
