// How much the program's own code does: how many instructions go with each call of a hook, by where it returns to;
// and whether it tells of a loop, as most blocks do not.
// The launcher found them out (symbols_code.cpp); a table of the size of a large program's code keeps those that
// are at work.
//
// May be read and added to by several threads at once: an entry is one word.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace terrace::observe {

// Of copying or setting a line of memory: two registers of half a line.
inline constexpr std::uint32_t k_instructions_of_a_line = 2;

// Work is counted in parts of an instruction: an instruction of a function that has a core time of its own counts
// as so many more or fewer parts (core_times.hpp).
inline constexpr std::uint32_t k_parts = 256;
inline constexpr unsigned k_work_bits = 28;  // of the parts that go with one hook
inline constexpr std::uint32_t k_max_parts = (1U << k_work_bits) - 1;

struct SiteWork {
  SiteWork(std::uint32_t instructions, bool tells_of_a_loop = false)
      : parts(std::min(instructions, k_max_parts / k_parts) * k_parts),
        marks_loop(tells_of_a_loop),
        cost_parts(parts) {}
  // Of code in which an instruction takes `cost` times what one of the program does.
  static SiteWork at_cost(std::uint32_t instructions, bool tells_of_a_loop, double cost) {
    SiteWork work(instructions, tells_of_a_loop);
    const auto parts = std::min(instructions * cost * k_parts + 0.5, double{k_max_parts});  // rounded without libm
    work.cost_parts = static_cast<std::uint32_t>(parts);
    return work;
  }
  std::uint32_t parts;       // of instructions
  bool marks_loop;           // tells of a loop's turns or entries (code/loop_marks.hpp)
  std::uint32_t cost_parts;  // where each instruction counts as what it costs in its function
};

class CodeWork {
 public:
  // Of the hook that returns to `site`; comes seldom, from any thread.
  using Find = std::function<SiteWork(std::uint64_t site)>;
  // `is_weighted`: whether instructions may count as more or fewer than one.
  explicit CodeWork(Find find, bool is_weighted = false) : find_(std::move(find)) {
    if (is_weighted) costs_ = std::make_unique<Costs>();
  }

  [[nodiscard]] bool is_weighted() const { return costs_ != nullptr; }
  // Returns the parts at their cost of a site that was found last of those that share its entry.
  [[nodiscard]] std::uint32_t cost_parts(std::uint64_t site) const {
    return (*costs_)[site % k_entries].load(std::memory_order_relaxed);
  }
  // Whether the table has the site; then `work` is its own.
  [[nodiscard]] bool has(std::uint64_t site, SiteWork& work) const {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    work.parts = static_cast<std::uint32_t>(entry & k_max_parts);
    work.marks_loop = (entry & k_marks_loop) != 0;
    return (entry & ~(k_marks_loop | k_max_parts)) == key(site);
  }
  [[gnu::noinline]] SiteWork find(std::uint64_t site) {
    auto work = find_(site);
    if (costs_) (*costs_)[site % k_entries].store(work.cost_parts, std::memory_order_relaxed);
    entries_[site % k_entries].store(key(site) | (work.marks_loop ? k_marks_loop : 0) | work.parts,
                                     std::memory_order_relaxed);
    return work;
  }
  // Other code may be where some was before.
  void forget() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }

 private:
  // Addresses of programs have 47 bits. The lowest 16 are the entry's number, the others are kept, and above them
  // that there is an entry, and whether it tells of a loop.
  static constexpr std::uint64_t k_is_there = std::uint64_t{1} << 62;
  static constexpr std::uint64_t k_marks_loop = std::uint64_t{1} << 63;
  static std::uint64_t key(std::uint64_t site) { return k_is_there | site / k_entries << k_work_bits; }
  static constexpr std::size_t k_entries = std::size_t{1} << 16;  // sites so far apart share an entry

  using Costs = std::array<std::atomic<std::uint32_t>, k_entries>;

  Find find_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};
  std::unique_ptr<Costs> costs_;
};

}  // namespace terrace::observe
