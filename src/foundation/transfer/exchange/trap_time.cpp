// SPDX-License-Identifier: Apache-2.0
// See trap_time.hpp.
#include "transfer/exchange/trap_time.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>

#include "core/rounding.hpp"
#include "memory/numa_node.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds k_flight{100};  // about the time to copy 2 MiB

void spin_for(Clock::duration time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

struct Toucher {
  std::uint64_t page;
  std::atomic<bool> ready{false};
  std::atomic<bool> go{false};
  Clock::time_point went_on{};

  static void* body(void* self) {
    auto& toucher = *static_cast<Toucher*>(self);
    toucher.ready = true;
    while (!toucher.go) {
    }
    *reinterpret_cast<volatile char*>(toucher.page) = 1;  // NOLINT(performance-no-int-to-ptr)
    toucher.went_on = Clock::now();
    return nullptr;
  }
};

class TwoPages {
 public:
  TwoPages() : map_(mmap(nullptr, 2 * k_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~TwoPages() {
    if (map_ != MAP_FAILED) munmap(map_, 2 * k_page);
  }
  TwoPages(const TwoPages&) = delete;
  TwoPages& operator=(const TwoPages&) = delete;
  [[nodiscard]] bool is_there() const { return map_ != MAP_FAILED; }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(map_); }

 private:
  void* map_;
};

}  // namespace

std::optional<Seconds> trap_time() {
  Userfault faults;
  const TwoPages pages;
  if (!faults.is_available() || !pages.is_there()) return {};
  const auto watched = pages.address();
  const auto made = watched + k_page;
  if (memory::populate(made, k_page) != 0 || faults.register_range(watched, k_page) != 0) return {};
  Toucher toucher{.page = watched};
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, Toucher::body, &toucher) != 0) return {};
  while (!toucher.ready) {
  }
  toucher.go = true;
  spin_for(k_flight);
  std::size_t moved = 0;
  const int error = faults.move(watched, made, k_page, moved);
  const auto woken = Clock::now();
  faults.wake(watched, k_page);
  faults.unregister_range(watched, k_page);
  pthread_join(thread, nullptr);
  if (error != 0 || toucher.went_on < woken) return {};  // it faulted after the move: no wait
  return Seconds{std::chrono::duration<double>(toucher.went_on - woken).count()};
}

}  // namespace terrace::transfer
