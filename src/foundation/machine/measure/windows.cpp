// SPDX-License-Identifier: Apache-2.0
// Times a section of code in windows (timed repetitions) for measured_rounds.cpp. The workers, threads that run
// the section, synchronise at a spinning barrier before each window. Companions, threads that keep other programs
// off the other processors, publish a heartbeat, whose gaps show that they were preempted. Workers detect their
// own preemptions by getrusage's involuntary context switches. See windows.hpp.
#include "machine/measure/windows.hpp"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "core/system_time.hpp"
#include "machine/measure/team.hpp"

namespace terrace::machine {
namespace {

constexpr std::int64_t k_max_gap_ns = 30'000;       // longer than an interrupt, shorter than a time slice
constexpr std::int64_t k_spin_ns = 100'000;         // spin time before a waiting worker sleeps
constexpr std::int64_t k_sleep_ns = 200'000;        // between two polls
constexpr std::int64_t k_max_wait_ns = 12'000'000;  // for companions, in total
constexpr std::size_t k_passes = 16;                // round trips of a cache line
constexpr std::size_t k_first_passes = 2;           // not timed, because they wait for the other worker

std::int64_t now_ns() { return static_cast<std::int64_t>(to_ns(read_clock(CLOCK_MONOTONIC))); }

void sleep_briefly() {
  const timespec time{0, k_sleep_ns};
  ::nanosleep(&time, nullptr);
}

// Yields execution resources to the other hardware thread of the core.
void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

// Spins on a processor that must stay free of other programs, and counts the gaps in which it did not run.
struct alignas(64) Companion {
  std::atomic<std::int64_t> seen_ns{0};
  std::atomic<std::uint64_t> gaps{0};

  void run(const std::atomic<bool>& done) {
    for (auto last = now_ns(); !done.load(std::memory_order_relaxed);) {
      const auto now = now_ns();
      if (now - last > k_max_gap_ns) gaps.fetch_add(1, std::memory_order_relaxed);
      last = now;
      seen_ns.store(now, std::memory_order_release);
      for (int i = 0; i < 8; ++i) pause_cpu();
    }
  }
};

// Runs workers and companions for run_windows(), and collects the time of each window and whether it was
// disturbed.
class WindowRunner {
 public:
  WindowRunner(const WindowPlan& plan, const Section& section, const Section& prepare)
      : plan_(plan),
        section_(section),
        prepare_(prepare),
        count_(plan.lead_in + plan.windows),
        companions_(plan.companions.size()),
        times_(plan.workers.size() * count_) {}

  std::vector<Window> run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < companions_.size(); ++i) {
        threads.emplace_back([this, i] {
          pin_to_processor(plan_.companions[i]);
          companions_[i].run(done_);
        });
      }
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < plan_.workers.size(); ++i) workers.emplace_back([this, i] { work(i); });
      workers.clear();
      done_ = true;
    }
    if (failure_) std::rethrow_exception(failure_);
    std::vector<Window> windows;
    for (std::size_t window = plan_.lead_in; window < count_; ++window) {
      auto total = at(0, window);
      for (std::size_t worker = 1; worker < plan_.workers.size(); ++worker) {
        const auto& time = at(worker, window);
        total.begin_ns = std::min(total.begin_ns, time.begin_ns);
        total.end_ns = std::max(total.end_ns, time.end_ns);
        total.clean = total.clean && time.clean;
        total.lacked_shared_cache = total.lacked_shared_cache || time.lacked_shared_cache;
      }
      // At least 1 ns: a rate must not become infinite.
      const auto ns = std::max<std::int64_t>(total.end_ns - total.begin_ns, 1);
      windows.push_back({1e-9 * static_cast<double>(ns), total.clean && !total.lacked_shared_cache, 0,
                         total.clean && total.lacked_shared_cache});
    }
    return windows;
  }

 private:
  struct WindowTime {
    std::int64_t begin_ns = 0, end_ns = 0;
    bool clean = true;
    bool lacked_shared_cache = false;
  };
  WindowTime& at(std::size_t worker, std::size_t window) { return times_[worker * count_ + window]; }

  // Runs and times all windows on one worker; the first worker also watches the companions.
  void work(std::size_t worker) {
    pin_to_processor(plan_.workers[worker]);
    for (std::size_t window = 0; window < count_; ++window) {
      const bool checks_companions = worker == 0 && !companions_.empty();
      if (checks_companions) await_companions();
      wait_at_barrier();
      const auto gaps = checks_companions ? gaps_of_companions() : 0;
      const auto preempted = preemptions();
      WindowTime time;
      try {
        if (prepare_) prepare_(worker, window);
        wait_at_barrier();  // all workers are running now
        if (plan_.max_hop.value > 0) {
          time.lacked_shared_cache = longest_hop_ns(worker, window) > 1e9 * plan_.max_hop.value;
          wait_at_barrier();
        }
        time.begin_ns = now_ns();
        section_(worker, window);
        time.end_ns = now_ns();
      } catch (...) {
        const std::lock_guard lock(failure_mutex_);
        if (!failure_) failure_ = std::current_exception();
        failed_ = true;
        return;
      }
      time.clean =
          preemptions() == preempted && (!checks_companions || (companions_run() && gaps_of_companions() == gaps));
      at(worker, window) = time;
      if (failed_) return;
    }
  }

  // Passes a cache line back and forth between each worker and the next, pair by pair. Returns the time of a hop
  // in the pair of this worker and the next; 0 for the last worker.
  double longest_hop_ns(std::size_t worker, std::size_t window) {
    const auto pairs = plan_.workers.size() - 1;
    double hop = 0;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      if (worker != pair && worker != pair + 1) continue;
      const auto base = 2 * k_passes * (window * pairs + pair) + (worker - pair);
      std::int64_t begun = 0;
      for (std::size_t pass = 0; pass < k_passes && !failed_; ++pass) {
        if (pass == k_first_passes) begun = now_ns();
        while (line_.load(std::memory_order_acquire) != base + 2 * pass && !failed_) {
        }
        line_.store(base + 2 * pass + 1, std::memory_order_release);
      }
      if (worker == pair) hop = static_cast<double>(now_ns() - begun) / (2 * (k_passes - k_first_passes));
    }
    return hop;
  }

  // Blocks until all workers have arrived, or one has failed.
  void wait_at_barrier() {
    const auto workers = plan_.workers.size();
    if (workers == 1) return;
    const auto arrived = arrived_.fetch_add(1) + 1;
    const auto all = (arrived + workers - 1) / workers * workers;
    const auto begun = now_ns();
    while (arrived_.load(std::memory_order_acquire) < all && !failed_) {
      if (now_ns() - begun > k_spin_ns) sleep_briefly();
      pause_cpu();
    }
  }

  [[nodiscard]] bool companions_run() const {
    const auto now = now_ns();
    return std::ranges::all_of(companions_, [now](const Companion& companion) {
      return now - companion.seen_ns.load(std::memory_order_acquire) < k_max_gap_ns;
    });
  }

  [[nodiscard]] std::uint64_t gaps_of_companions() const {
    std::uint64_t gaps = 0;
    for (const auto& companion : companions_) gaps += companion.gaps.load(std::memory_order_relaxed);
    return gaps;
  }

  // Sleeps between polls, because the scheduler favours a thread that wakes from sleep.
  void await_companions() {
    while (!companions_run() && waited_ns_ < k_max_wait_ns) {
      const auto begun = now_ns();
      sleep_briefly();
      waited_ns_ += now_ns() - begun;
    }
  }

  const WindowPlan& plan_;
  const Section& section_;
  const Section& prepare_;
  std::size_t count_;
  std::vector<Companion> companions_;
  std::vector<WindowTime> times_;
  std::atomic<std::size_t> arrived_{0};
  alignas(64) std::atomic<std::size_t> line_{0};
  std::atomic<bool> done_{false}, failed_{false};
  std::int64_t waited_ns_ = 0;
  std::exception_ptr failure_;
  std::mutex failure_mutex_;
};

}  // namespace

std::vector<Window> run_windows(const WindowPlan& plan, const Section& section, const Section& prepare) {
  return WindowRunner(plan, section, prepare).run();
}

}  // namespace terrace::machine
