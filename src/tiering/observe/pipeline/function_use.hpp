// Counts what each function of a program does, for the fit of its own core time (docs/virtual-time.md,
// "Calibration"): instructions, hits of the caches beyond the first, misses. Exists in calibrating runs only;
// other runs have none and pay one test of a pointer for it.
//
// May be added to by several threads at once. Functions are known by the return address of the hook that tells.
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

class FunctionUse {
 public:
  using Index = std::uint16_t;
  // Of one function, so far; `work` in parts of an instruction (code_work.hpp).
  enum Count : std::uint8_t { work, walks, prefetched, independent, dependent, weight, written, calls, hits };
  static constexpr std::size_t k_counts = hits + k_max_cache_levels;

  // Names the function that the hook which returns to `site` is in; comes once for each site or more often.
  using Name = std::function<std::string(std::uint64_t site)>;
  explicit FunctionUse(Name name) : name_(std::move(name)) {}

  [[nodiscard]] Index index(std::uint64_t site) {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    return entry >> k_bits == site ? static_cast<Index>(entry & k_max) : find(site);
  }
  void add(Index function, std::size_t count, std::uint64_t so_many) {
    uses_[function].counts[count].fetch_add(so_many, std::memory_order_relaxed);
  }
  // A miss or a write-back, and the share of a latency that it exposes.
  void add(Index function, const Miss& miss) {
    static constexpr std::array k_kinds{prefetched, independent, dependent, written};
    add(function, k_kinds[static_cast<std::size_t>(miss.kind)], 1);
    if (miss.weight != 0) add(function, weight, miss.weight);
  }
  // Other code may be where some was before.
  void forget() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }
  // A line for each function: its name, a tab, and its counts in their order. Allocates.
  [[nodiscard]] std::string text();

 private:
  struct Use {
    std::string name;
    std::array<std::atomic<std::uint64_t>, k_counts> counts{};
  };
  Index find(std::uint64_t site);

  static constexpr unsigned k_bits = 16;
  static constexpr std::uint64_t k_max = (std::uint64_t{1} << k_bits) - 1;
  static constexpr std::size_t k_entries = 8192;

  Name name_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};  // site, function
  SpinLock lock_;                                                // of what follows, but not of counts
  std::map<std::string, Index, std::less<>> known_;
  std::deque<Use> uses_;
};

}  // namespace terrace::observe
