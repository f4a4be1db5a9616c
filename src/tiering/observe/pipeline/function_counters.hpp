// SPDX-License-Identifier: Apache-2.0
// Counts the events of each function of a program, for the fit of its own core time
// (docs/explanation/virtual-time.md, "Calibration"): instructions, hits of the caches beyond the first, misses.
// Pipelines add to it. Exists in calibrating runs only; other runs pay one test of a pointer.
//
// Thread-safe. A function is identified by the return address of one of its hooks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "observe/access_sink.hpp"
#include "observe/objects/spin_lock.hpp"

namespace terrace::observe {

class FunctionCounters {
 public:
  using Index = std::uint16_t;
  // Counters of a function; `work` is in parts of an instruction (site_work.hpp).
  enum Count : std::uint8_t { work, walks, prefetched, independent, dependent, weight, written, calls, hits };
  static constexpr std::size_t k_counts = hits + k_max_cache_levels;

  // Returns the name of the function with the hook that returns to `site`. Called once for each site or more
  // often.
  using NameOf = std::function<std::string(std::uint64_t site)>;
  explicit FunctionCounters(NameOf name_of) : name_of_(std::move(name_of)) {}

  [[nodiscard]] Index index(std::uint64_t site) {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    return entry >> k_bits == site ? static_cast<Index>(entry & k_max) : find(site);
  }
  void add(Index function, std::size_t count, std::uint64_t amount) {
    counters_[function].counts[count].fetch_add(amount, std::memory_order_relaxed);
  }
  // Counts a miss or a write-back, and the share of a latency that it exposes.
  void add(Index function, const Miss& miss) {
    static constexpr std::array k_kinds{prefetched, independent, dependent, written};
    add(function, k_kinds[static_cast<std::size_t>(miss.kind)], 1);
    if (miss.weight != 0) add(function, weight, miss.weight);
  }
  // Drops the cached sites: other code may be at the same addresses. Keeps the counters.
  void clear() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }
  // Returns a line for each function: its name, and its counters in their order, each behind a tab. Allocates.
  [[nodiscard]] std::string format();

 private:
  struct Counters {
    std::string name;
    std::array<std::atomic<std::uint64_t>, k_counts> counts{};
  };
  Index find(std::uint64_t site);

  static constexpr unsigned k_bits = 16;
  static constexpr std::uint64_t k_max = (std::uint64_t{1} << k_bits) - 1;
  static constexpr std::size_t k_entries = 8192;

  NameOf name_of_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};  // site and function index
  SpinLock lock_;                                      // guards the members below, but not the atomic counts
  std::map<std::string, Index, std::less<>> indices_;  // by name
  std::deque<Counters> counters_;
};

}  // namespace terrace::observe
