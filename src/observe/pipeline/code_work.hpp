// How much the program's own code does: how many instructions go with each call of a hook, by where it returns to;
// and whether it tells of a loop, as most blocks do not.
// The launcher found them out (symbols_code.cpp); a table of a few thousand sites keeps those that are at work.
//
// May be read and added to by several threads at once: an entry is one word.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace terrace::observe {

// Of copying or setting a line of memory: two registers of half a line.
inline constexpr std::uint32_t k_instructions_of_a_line = 2;

struct SiteWork {
  SiteWork(std::uint32_t that_go_with_it, bool tells_of_a_loop = false)
      : instructions(that_go_with_it), marks_loop(tells_of_a_loop) {}
  std::uint32_t instructions;
  bool marks_loop;  // tells of a loop's turns or entries (code/loop_marks.hpp)
};

class CodeWork {
 public:
  // Of the hook that returns to `site`; comes seldom, from any thread.
  using Find = std::function<SiteWork(std::uint64_t site)>;
  explicit CodeWork(Find find) : find_(std::move(find)) {}

  // Whether the table has the site; then `work` is its own.
  [[nodiscard]] bool has(std::uint64_t site, SiteWork& work) const {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    work = {static_cast<std::uint32_t>(entry & k_most), (entry & k_marks_loop) != 0};
    return (entry & ~k_marks_loop) >> k_bits == site;
  }
  [[gnu::noinline]] SiteWork find(std::uint64_t site) {
    auto work = find_(site);
    work.instructions = std::min<std::uint32_t>(work.instructions, k_most);
    entries_[site % k_entries].store(site << k_bits | (work.marks_loop ? k_marks_loop : 0) | work.instructions,
                                     std::memory_order_relaxed);
    return work;
  }
  // Other code may be where some was before.
  void forget() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }

 private:
  // Addresses of programs have 47 bits, which leaves one above them.
  static constexpr unsigned k_bits = 16;
  static constexpr std::uint64_t k_marks_loop = std::uint64_t{1} << 63;
  static constexpr std::uint64_t k_most = (std::uint64_t{1} << k_bits) - 1;
  static constexpr std::size_t k_entries = 8192;  // sites so far apart share an entry

  Find find_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};
};

}  // namespace terrace::observe
