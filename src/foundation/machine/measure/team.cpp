// SPDX-License-Identifier: Apache-2.0
// Runs pinned threads in rounds, for measurements of machines and copiers: with a barrier before and after each
// round, between which the first thread reads the clock. See team.hpp.
#include "machine/measure/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace terrace::machine {

bool pin_to_processor(int processor) {
  // Allocated at run time: machines may have more processors than cpu_set_t has bits.
  const auto count = static_cast<std::size_t>(processor) + 1;
  cpu_set_t* set = CPU_ALLOC(count);
  if (set == nullptr) return false;
  const auto size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, set);
  CPU_SET_S(static_cast<std::size_t>(processor), size, set);
  const bool done = ::pthread_setaffinity_np(::pthread_self(), size, set) == 0;
  CPU_FREE(set);
  return done;
}

std::size_t run_team(std::span<const int> processors, std::size_t rounds,
                     const std::function<void(std::size_t, std::size_t)>& section,
                     const std::function<void(std::size_t, Seconds)>& finished) {
  std::atomic<std::size_t> pinned = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  std::barrier barrier(static_cast<std::ptrdiff_t>(processors.size()));
  const auto work = [&](std::size_t thread) {
    if (pin_to_processor(processors[thread])) ++pinned;
    for (std::size_t round = 0; round < rounds; ++round) {
      barrier.arrive_and_wait();
      const auto begun = std::chrono::steady_clock::now();
      try {
        section(thread, round);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
      }
      barrier.arrive_and_wait();
      if (thread == 0) {
        finished(round, Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()});
      }
    }
  };
  // Start a thread for each processor, so that the caller's affinity does not change.
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < processors.size(); ++i) threads.emplace_back(work, i);
  threads.clear();
  if (failure) std::rethrow_exception(failure);
  return pinned;
}

}  // namespace terrace::machine
