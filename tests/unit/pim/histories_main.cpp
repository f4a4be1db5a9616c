// Runs random histories against brute force: pim_histories [--sequential N] [--concurrent N] [--seed N].
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "histories.hpp"

int main(int count, char** words) {
  std::uint64_t sequential = 0, concurrent = 0, seed = 1;
  for (int i = 1; i + 1 < count; i += 2) {
    const auto value = std::strtoull(words[i + 1], nullptr, 10);
    if (std::strcmp(words[i], "--sequential") == 0) sequential = value;
    if (std::strcmp(words[i], "--concurrent") == 0) concurrent = value;
    if (std::strcmp(words[i], "--seed") == 0) seed = value;
  }
  if (sequential + concurrent == 0) {
    std::fputs("pim_histories: give --sequential N or --concurrent N, and --seed N if you like\n", stderr);
    return 2;
  }
  std::string wrong;
  std::mutex lock;
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (std::uint64_t i; (i = next++) < sequential;) {
      auto found = terrace::pim::sequential_history(seed + i);
      if (found.empty()) continue;
      const std::scoped_lock locked(lock);
      wrong = std::move(found);
      next = sequential;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  }
  if (wrong.empty() && concurrent > 0) wrong = terrace::pim::concurrent_histories(seed, concurrent);
  if (!wrong.empty()) {
    std::printf("%s\n", wrong.c_str());
    return 1;
  }
  std::printf("%llu sequential and %llu concurrent histories agree with brute force\n",
              static_cast<unsigned long long>(sequential), static_cast<unsigned long long>(concurrent));
  return 0;
}
