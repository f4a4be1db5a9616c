// SPDX-License-Identifier: Apache-2.0
// Caches, for each call site of a hook (identified by the hook's return address), how many instructions of the
// program's own the hook stands for, and whether it reports a loop; most basic blocks do not. Pipelines look it up
// at sampled accesses and at basic blocks. The launcher counts the instructions when it disassembles the program
// (symbols/files/symbols_code.cpp); this direct-mapped table spares most hooks the search in the symbol file.
//
// Thread-safe and lock-free: an entry is one word.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace terrace::observe {

// Instructions that copy or set a cache line: two registers of half a line.
inline constexpr std::uint32_t k_instructions_per_copied_line = 2;

// Work is counted in parts of an instruction, because an instruction of a function with a core time of its own
// (core_times.hpp) counts as more or less than one.
inline constexpr std::uint32_t k_parts_per_instruction = 256;
inline constexpr unsigned k_work_bits = 28;  // of the parts of one hook
inline constexpr std::uint32_t k_max_parts = (1U << k_work_bits) - 1;

struct SiteWork {
  SiteWork(std::uint32_t instructions, bool is_loop_mark = false)
      : parts(std::min(instructions, k_max_parts / k_parts_per_instruction) * k_parts_per_instruction),
        marks_loop(is_loop_mark),
        cost_parts(parts) {}
  // Returns the work of code in which an instruction takes `cost` times as long as the program's average.
  static SiteWork at_cost(std::uint32_t instructions, bool is_loop_mark, double cost) {
    SiteWork work(instructions, is_loop_mark);
    const auto parts = std::min(instructions * cost * k_parts_per_instruction + 0.5,
                                double{k_max_parts});  // rounded without libm
    work.cost_parts = static_cast<std::uint32_t>(parts);
    return work;
  }
  std::uint32_t parts;       // instructions x k_parts_per_instruction
  bool marks_loop;           // the hook reports a loop's iterations or entries (code/loop_marks.hpp)
  std::uint32_t cost_parts;  // of instructions, weighted by their cost in this function
};

class SiteWorkTable {
 public:
  // Computes the work of the hook with that return address. Called at misses of the table, from any thread.
  using Compute = std::function<SiteWork(std::uint64_t site)>;
  // `is_weighted`: instructions may count as more or less than one.
  explicit SiteWorkTable(Compute compute, bool is_weighted = false) : compute_(std::move(compute)) {
    if (is_weighted) costs_ = std::make_unique<Costs>();
  }

  [[nodiscard]] bool is_weighted() const { return costs_ != nullptr; }
  // Returns the weighted parts of a site. Requires: it was the last site of its entry that was looked up.
  [[nodiscard]] std::uint32_t cost_parts(std::uint64_t site) const {
    return (*costs_)[site % k_entries].load(std::memory_order_relaxed);
  }
  // Returns whether the table has the call site of that hook; sets the instructions that it stands for, in parts,
  // and whether it reports a loop.
  [[nodiscard]] bool lookup(std::uint64_t site, SiteWork& work) const {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    work.parts = static_cast<std::uint32_t>(entry & k_max_parts);
    work.marks_loop = (entry & k_marks_loop) != 0;
    return (entry & ~(k_marks_loop | k_max_parts)) == key(site);
  }
  // Computes the site's work and stores it, in place of that of another site with the same entry.
  [[gnu::noinline]] SiteWork compute(std::uint64_t site) {
    auto work = compute_(site);
    if (costs_) (*costs_)[site % k_entries].store(work.cost_parts, std::memory_order_relaxed);
    entries_[site % k_entries].store(key(site) | (work.marks_loop ? k_marks_loop : 0) | work.parts,
                                     std::memory_order_relaxed);
    return work;
  }
  // Empties the table: modules were loaded or unloaded, so other code may be at the same addresses.
  void clear() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }

 private:
  // Layout of an entry, from bit 0: parts of instructions, the upper 31 of the address's 47 bits (the lowest 16
  // are the index), then whether the entry is valid and whether the hook reports a loop.
  static constexpr std::uint64_t k_is_valid = std::uint64_t{1} << 62;
  static constexpr std::uint64_t k_marks_loop = std::uint64_t{1} << 63;
  static std::uint64_t key(std::uint64_t site) { return k_is_valid | site / k_entries << k_work_bits; }
  static constexpr std::size_t k_entries = std::size_t{1} << 16;  // sites so far apart share an entry

  using Costs = std::array<std::atomic<std::uint32_t>, k_entries>;

  Compute compute_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};
  std::unique_ptr<Costs> costs_;
};

}  // namespace terrace::observe
