// SPDX-License-Identifier: Apache-2.0
// Implements the copier between NUMA nodes by page exchange through staging memory (exchange/page_exchange.hpp),
// the mover's first choice. Falls back to move_pages(2) for pages that cannot be exchanged. Requires Linux 6.8.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "core/units.hpp"
#include "memory/numa_node.hpp"
#include "transfer/exchange/page_exchange.hpp"
#include "transfer/exchange/userfault.hpp"
#include "transfer/numa_copier.hpp"

namespace terrace::transfer {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds k_flight{100};  // about the time to copy 2 MiB

void spin_for(Clock::duration time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

// Thread of trap_time() that accesses an absent page and records when it runs again.
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

// Measures one trap: a thread faults on an absent, watched page; later the page is moved there and the thread
// woken. Returns the time from the wake-up until the thread runs. Empty where UFFDIO_MOVE is not available, or the
// thread faulted too late to wait.
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

constexpr std::string_view k_name = "numa_swap";
constexpr std::size_t k_max_threads = 4;
// Below this size an exchange takes longer than the pages' share of a move_pages(2) batch.
constexpr std::uint64_t k_min_exchange_bytes = 16 * k_page;
constexpr std::size_t k_max_cached_slots = 8;  // of 2 MiB
constexpr std::uint64_t k_capacity_part = 8;   // a cached slot takes at most one part in so many of free capacity

// Returns the thread count of the machine file, else half of the allowed processors, at most four: they share one
// memory's bandwidth.
std::size_t copying_threads(const machine::Machine& machine) {
  for (const auto& price : machine.parts().copiers)
    if (price.name == k_name && price.threads > 0) return price.threads;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)) / 2, 1, k_max_threads);
}

// Charges cached slots to the place of their node.
class LedgerSlotAccounting final : public SlotAccounting {
 public:
  LedgerSlotAccounting(const machine::Machine& machine, memory::Ledger& ledger)
      : machine_(machine), ledger_(ledger) {}

  bool charge(int node, std::size_t size) noexcept override {
    const auto place = place_of(node);
    return place != k_no_place && ledger_.available(place).value >= k_capacity_part * size &&
           ledger_.take(place, Bytes{size});
  }
  void uncharge(int node, std::size_t size) noexcept override { ledger_.give(place_of(node), Bytes{size}); }

 private:
  [[nodiscard]] PlaceId place_of(int node) const noexcept {
    const auto& places = machine_.places();
    for (PlaceId place = 0; place < places.size(); ++place)
      if (places[place].numa_node == node) return place;
    return k_no_place;
  }

  const machine::Machine& machine_;
  memory::Ledger& ledger_;
};

class NumaSwap final : public NumaCopier {
 public:
  explicit NumaSwap(const CopierParts& parts)
      : NumaCopier(parts),
        accounting_(parts.machine, parts.ledger),
        exchange_(accounting_, 1, k_max_cached_slots, copying_threads(parts.machine), parts.enter) {}

  [[nodiscard]] Bytes max_piece() const noexcept override { return {PageExchange::k_piece}; }
  [[nodiscard]] std::uint32_t threads() const noexcept override {
    return static_cast<std::uint32_t>(exchange_.copiers());
  }
  void copy(void* to, const void* from, std::size_t size) noexcept override { exchange_.copy(to, from, size); }

 private:
  // Exchanges the pages of contiguous chunks together, else chunk by chunk, and leaves the rest to move_pages(2).
  void move_pages(std::span<ChunkMigration> migrations, int node) noexcept override {
    std::size_t rest = 0;  // index of the first migration not done
    const auto mark_moved = [&](std::size_t first, std::size_t count) {
      move_by_pages(migrations.subspan(rest, first - rest), node);
      for (auto& migration : migrations.subspan(first, count)) migration.pages_left = 0;
      rest = first + count;
    };
    for (std::size_t i = 0, count = 0; i < migrations.size(); i += count) {
      count = count_contiguous(migrations.subspan(i));
      if (exchange(migrations.subspan(i, count), node)) {
        mark_moved(i, count);
        continue;
      }
      for (auto one = i; count > 1 && one < i + count; ++one)  // they may belong to several mappings
        if (exchange(migrations.subspan(one, 1), node)) mark_moved(one, 1);
    }
    move_by_pages(migrations.subspan(rest), node);
  }
  // Does nothing: an exchange splits huge pages itself, without the two interrupts that this takes.
  void split_huge_page(const memory::Chunk&) noexcept override {}
  // Falls back to move_pages(2) for chunks that were not exchanged.
  void move_by_pages(std::span<ChunkMigration> migrations, int node) noexcept {
    for (const auto& migration : migrations)
      if (migration.in_flight) NumaCopier::split_huge_page(*migration.chunk);
    if (!migrations.empty()) NumaCopier::move_pages(migrations, node);
  }
  // Counts chunks that are adjacent in memory: one range stalls the program and costs the mover once.
  static std::size_t count_contiguous(std::span<const ChunkMigration> migrations) {
    std::size_t count = 1;
    const auto is_exchangeable = [](const ChunkMigration& migration) {
      return migration.in_flight && migration.chunk->size % k_page == 0;
    };
    while (is_exchangeable(migrations[count - 1]) && count < migrations.size() && migrations[count].in_flight &&
           migrations[count].chunk->address ==
               migrations[count - 1].chunk->address + migrations[count - 1].chunk->size)
      ++count;
    return count;
  }
  // Exchanges the pages of adjacent chunks. Returns false if they were not exchanged.
  bool exchange(std::span<ChunkMigration> migrations, int node) noexcept {
    const auto begin = migrations.front().chunk->address;
    const auto size = migrations.back().chunk->address + range_of(*migrations.back().chunk) - begin;
    return migrations.front().in_flight && size >= k_min_exchange_bytes &&
           exchange_.migrate_range(begin, size, node) == 0;
  }
  bool reclaim_space(PlaceId place) noexcept override { return exchange_.trim(node_of(place)); }
  void on_round_charged() noexcept override { exchange_.settle_accounting(); }

  LedgerSlotAccounting accounting_;
  PageExchange exchange_;
};

class Variant final : public CopierVariant {
 public:
  [[nodiscard]] std::string_view name() const override { return k_name; }
  [[nodiscard]] bool supports(const machine::Place& from, const machine::Place& to) const override {
    return from.numa_node >= 0 && to.numa_node >= 0;
  }
  // Two UFFDIO_MOVE calls and the registration of the range, measured with huge pages on one node.
  [[nodiscard]] Seconds overhead() const override { return {10e-6}; }
  [[nodiscard]] bool moves_within_node() const override { return true; }
  [[nodiscard]] std::optional<Seconds> trap_latency() const override { return trap_time(); }
  [[nodiscard]] std::unique_ptr<Copier> make(const CopierParts& parts) const override {
    try {
      return std::make_unique<NumaSwap>(parts);
    } catch (const Error&) {
      return nullptr;  // not permitted to this process
    }
  }
};

}  // namespace

const CopierVariant& numa_swap_copier() {
  static const Variant variant;
  return variant;
}

}  // namespace terrace::transfer
