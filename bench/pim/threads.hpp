// Runs the work of several threads that begin together, and times each of them. Used by the sections of pim_bench.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>
#include <vector>

namespace terrace::pim::bench {

using Clock = std::chrono::steady_clock;

inline constexpr unsigned k_max_threads = 8;
inline thread_local unsigned thread_number = 0;  // of those that in_threads() began

inline double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

inline double processor_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Returns the involuntary context switches of this thread. Waits for a lock do not count.
inline long interruptions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct Timed {
  double wall_ns = 0;       // from a thread's begin to its end, averaged over the threads
  double processor_ns = 0;  // of that on a processor
  double total_ns = 0;      // from the first thread's begin to the last one's end
  double late = 0;          // the part of that before the last thread's begin
  long interrupted = 0;     // of all threads
};

// Calls prepare(thread), then body(thread) in each of `count` threads; only the bodies are timed.
template <typename Prepare, typename Body>
Timed in_threads(unsigned count, Prepare prepare, Body body) {
  struct Times {
    Clock::time_point begin, end;
    double processor_ns = 0;
    long interrupted = 0;
  };
  std::vector<Times> times(count);
  std::barrier start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < count; ++thread) {
    threads.emplace_back([&, thread] {
      thread_number = thread;
      prepare(thread);
      start.arrive_and_wait();
      Times mine;
      mine.interrupted = interruptions();
      mine.processor_ns = processor_nanoseconds();
      mine.begin = Clock::now();
      body(thread);
      mine.end = Clock::now();
      mine.processor_ns = processor_nanoseconds() - mine.processor_ns;
      mine.interrupted = interruptions() - mine.interrupted;
      times[thread] = mine;
    });
  }
  threads.clear();
  Timed timed;
  auto begin = times.front().begin, end = times.front().end;
  auto all_begun = begin;
  for (const auto& of : times) {
    timed.wall_ns += nanoseconds(of.end - of.begin) / count;
    timed.processor_ns += of.processor_ns / count;
    timed.interrupted += of.interrupted;
    begin = std::min(begin, of.begin);
    end = std::max(end, of.end);
    all_begun = std::max(all_begun, of.begin);
  }
  timed.total_ns = nanoseconds(end - begin);
  timed.late = nanoseconds(all_begun - begin) / timed.total_ns;
  return timed;
}

}  // namespace terrace::pim::bench
