// SPDX-License-Identifier: Apache-2.0
// Runs independent draws (random samples of a placement problem) in parallel on all cores, for the confidence of
// plans.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace terrace::strategy {

// Calls function(0) ... function(count - 1) on as many threads as there are cores. Rethrows the first exception,
// and skips the remaining calls then.
template <class Function>
void for_all(std::uint32_t count, Function function) {
  std::atomic<std::uint32_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&] {
    for (auto d = next++; d < count; d = next++) {
      try {
        function(d);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!thrown) thrown = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> threads;
  const auto processors = std::max(1u, std::thread::hardware_concurrency());
  for (auto t = 1u; t < std::min<std::uint32_t>(processors, count); ++t) threads.emplace_back(work);
  work();
  threads.clear();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace terrace::strategy
