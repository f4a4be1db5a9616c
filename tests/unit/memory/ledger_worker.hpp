// A process of a random ledger history: its operations, and an independent record of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>

#include "memory/ledger.hpp"

namespace terrace::memory {

inline constexpr std::size_t k_workers = 4;
inline constexpr PlaceId k_places = 3;
inline constexpr std::uint64_t k_unit = 4096;
inline constexpr std::array<std::uint64_t, k_places> k_units{1000, 60, 7};    // budgets
inline constexpr std::array<std::uint64_t, k_places> k_capacity{700, 40, 5};  // physical memory of the model

// One word for each place with 16 bits for each worker, so that changes are atomic.
struct Account {
  std::array<std::atomic<std::uint64_t>, k_places> units;
  std::array<std::atomic<std::uint64_t>, k_places> reserved;  // populated or not
  std::array<std::atomic<std::uint64_t>, k_places> pages;     // reserved and populated
  std::array<std::atomic<std::uint64_t>, k_places> most;      // peak of units
  std::array<std::atomic<int>, k_workers> begun;              // 1: has changed the ledger
  std::array<std::atomic<int>, k_workers> paused;
  std::atomic<int> ends;
  std::atomic<int> passed;    // times that a budget was exceeded
  std::atomic<int> overfull;  // times that more was reserved than exists
  std::atomic<std::uint64_t> taken, populated, stated, refused, scribbles, taken_after_scribbles;

  static std::uint64_t of(std::uint64_t word, std::size_t worker) { return word >> (16 * worker) & 0xffff; }
  static std::uint64_t sum(std::uint64_t word) {
    std::uint64_t total = 0;
    for (std::size_t worker = 0; worker < k_workers; ++worker) total += of(word, worker);
    return total;
  }
  static std::uint64_t add(std::atomic<std::uint64_t>& word, std::size_t worker, std::uint64_t count) {
    const auto change = count << (16 * worker);
    return sum(word.fetch_add(change) + change);
  }
  static void subtract(std::atomic<std::uint64_t>& word, std::size_t worker, std::uint64_t count) {
    word.fetch_sub(count << (16 * worker));
  }
  void add(std::size_t worker, PlaceId place, std::uint64_t count) {
    const auto total = add(units[place], worker, count);
    if (total > k_units[place]) ++passed;
    for (auto seen = most[place].load(); seen < total && !most[place].compare_exchange_weak(seen, total);) {
    }
  }
  void forget(std::size_t worker) {
    for (auto* const words : {&units, &reserved, &pages})
      for (auto& word : *words) word.fetch_and(~(std::uint64_t{0xffff} << (16 * worker)));
  }
  // Reports free memory, as the kernel would.
  static Bytes free(void* account, PlaceId place) {
    return {(k_capacity[place] - sum(static_cast<Account*>(account)->pages[place].load())) * k_unit};
  }
};

// Performs random operations on the ledger and records them. Acquisitions are recorded after the ledger has
// granted them, releases before the ledger is changed.
class Worker {
 public:
  Worker(Ledger& ledger, Account& account, std::size_t number, std::mt19937& random)
      : ledger_(ledger), account_(account), number_(number), random_(random) {}

  void step() {
    place_ = static_cast<PlaceId>(random_() % k_places);
    const auto count = random_() % (k_units[place_] / 2 + 1) + 1;
    const auto what = random_() % 32;
    if (what < 14)
      asked(ledger_.take(place_, {count * k_unit}), count, plain_);
    else if (what < 20)
      reserve(std::min<std::uint64_t>(count, k_capacity[place_]));
    else if (what < 24)
      populate(count);
    else if (what < 31)
      give(count);
    else
      state();
  }
  void state_no_demand() {
    for (PlaceId place = 0; place < k_places; ++place) ledger_.set_demand(place, {.weight = 0});
  }

 private:
  using Units = std::array<std::uint64_t, k_places>;

  bool asked(bool allowed, std::uint64_t count, Units& mine) {
    if (!allowed) {
      ++account_.refused;
      return false;
    }
    account_.add(number_, place_, count);
    mine[place_] += count;
    ++account_.taken;
    if (account_.scribbles.load() > 0) ++account_.taken_after_scribbles;
    return true;
  }
  void reserve(std::uint64_t count) {
    if (!asked(ledger_.reserve(place_, {count * k_unit}, {Account::free, &account_}), count, waiting_)) return;
    if (Account::add(account_.reserved[place_], number_, count) > k_capacity[place_]) ++account_.overfull;
  }
  void populate(std::uint64_t most) {
    const auto count = std::min(most, waiting_[place_]);
    if (count == 0) return;
    Account::add(account_.pages[place_], number_, count);
    ledger_.commit_reserved(place_, {count * k_unit});
    waiting_[place_] -= count;
    populated_[place_] += count;
    ++account_.populated;
  }
  void give(std::uint64_t most) {
    auto& mine = *std::array{&plain_, &waiting_, &populated_}[random_() % 3];
    const auto count = std::min(most, mine[place_]);
    if (count == 0) return;
    // Pages are free for others as soon as they leave the record: by then they must not count as reserved.
    if (&mine != &plain_) Account::subtract(account_.reserved[place_], number_, count);
    if (&mine == &populated_) Account::subtract(account_.pages[place_], number_, count);
    Account::subtract(account_.units[place_], number_, count);
    if (&mine == &waiting_) ledger_.commit_reserved(place_, {count * k_unit});  // will not be populated
    ledger_.give(place_, {count * k_unit});
    mine[place_] -= count;
  }
  void state() {
    LedgerDemand demand;
    demand.weight = static_cast<std::uint32_t>(random_() % 3);
    if (random_() % 2 == 0) demand.quota = (random_() % k_units[place_]) * k_unit;
    if (random_() % 2 == 0) demand.gain = static_cast<double>(random_() % 100);
    ledger_.set_demand(place_, demand);
    ++account_.stated;
  }

  Ledger& ledger_;
  Account& account_;
  std::size_t number_;
  std::mt19937& random_;
  PlaceId place_ = 0;
  Units plain_{}, waiting_{}, populated_{};
};

}  // namespace terrace::memory
