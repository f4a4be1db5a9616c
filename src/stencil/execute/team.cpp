// SPDX-License-Identifier: Apache-2.0
// Implements a team of threads that run the same function, and their barriers: waiting threads spin, then yield,
// then sleep. Executors run the tiles or loops of a chain on it.
#include "stencil/execute/team.hpp"

#include <chrono>
#include <string>
#include <system_error>

#include "core/error.hpp"

namespace terrace::stencil {
namespace {

// Spins before a waiting thread sleeps: about 20 us, longer than a short loop and shorter than sleep and
// wake-up.
constexpr int k_spins = 4000;
constexpr int k_spins_before_yield = 200;  // when oversubscribed, spinning would delay others
// A wait of more yields than this is for a disk, or for a thread that is not running: the thread then sleeps in
// intervals of this length and frees the processor.
constexpr int k_yields_before_sleep = 2000;  // about a millisecond on an idle processor
constexpr std::chrono::microseconds k_sleep{50};

void spin_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Team::Team(int threads) {
  try {
    for (int i = 1; i < threads; ++i)
      others_.emplace_back([this, number = static_cast<std::size_t>(i)] {
        for (std::size_t seen = 0;; ++seen) {
          for (int spins = 0; spins < k_spins && begun_.load(std::memory_order_acquire) == seen; ++spins)
            spin_once();
          begun_.wait(seen, std::memory_order_acquire);
          if (is_over_.load(std::memory_order_acquire)) return;
          do_work(number);
          ended_.fetch_add(1, std::memory_order_acq_rel);
          ended_.notify_all();
        }
      });
  } catch (const std::system_error& error) {
    const auto has = size();
    end_others();
    throw Error(Code::failed, std::to_string(threads) + " threads were requested, the system gives " +
                                  std::to_string(has) + " (" + error.what() + "): set threads=N lower");
  }
}

Team::~Team() { end_others(); }

void Team::end_others() {
  is_over_.store(true, std::memory_order_release);
  begun_.fetch_add(1, std::memory_order_acq_rel);
  begun_.notify_all();
  for (auto& other : others_) other.join();
}

void Team::do_work(std::size_t number) {
  try {
    (*work_)(number);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
}

void Team::run(const std::function<void(std::size_t)>& work) {
  work_ = &work;
  error_ = nullptr;
  failed_.store(false, std::memory_order_relaxed);
  arrived_.store(0, std::memory_order_relaxed);
  const auto wanted = ended_.load(std::memory_order_relaxed) + others_.size();
  begun_.fetch_add(1, std::memory_order_acq_rel);
  begun_.notify_all();
  do_work(0);
  for (int spins = 0; spins < k_spins && ended_.load(std::memory_order_acquire) < wanted; ++spins) spin_once();
  for (auto ended = ended_.load(std::memory_order_acquire); ended < wanted;
       ended = ended_.load(std::memory_order_acquire))
    ended_.wait(ended, std::memory_order_acquire);
  if (error_) std::rethrow_exception(error_);
}

void Team::wait_for(const std::atomic<std::size_t>& number, std::size_t count) const {
  for (int spins = 0; number.load(std::memory_order_acquire) < count; ++spins) {
    if (failed()) return;
    if (spins < k_spins_before_yield)
      spin_once();
    else if (spins < k_spins_before_yield + k_yields_before_sleep)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(k_sleep);
  }
}

void Team::barrier() {
  const auto before = arrived_.fetch_add(1, std::memory_order_acq_rel);
  wait_for(arrived_, (before / size() + 1) * size());
}

}  // namespace terrace::stencil
