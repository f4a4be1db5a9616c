// How much the program's own code does: how many instructions go with each call of a hook, by where it returns to.
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

class CodeWork {
 public:
  // Instructions that go with the hook that returns to `site`; comes seldom, from any thread.
  using Find = std::function<std::uint32_t(std::uint64_t site)>;
  explicit CodeWork(Find find) : find_(std::move(find)) {}

  // Whether the table has the site; then `instructions` are its own.
  [[nodiscard]] bool has(std::uint64_t site, std::uint32_t& instructions) const {
    const auto entry = entries_[site % k_entries].load(std::memory_order_relaxed);
    instructions = static_cast<std::uint32_t>(entry & k_most);
    return entry >> k_bits == site;
  }
  [[gnu::noinline]] std::uint32_t find(std::uint64_t site) {
    const auto instructions = std::min<std::uint32_t>(find_(site), k_most);
    entries_[site % k_entries].store(site << k_bits | instructions, std::memory_order_relaxed);
    return instructions;
  }
  // Other code may be where some was before.
  void forget() {
    for (auto& entry : entries_) entry.store(0, std::memory_order_relaxed);
  }

 private:
  // Addresses of programs have 47 bits.
  static constexpr unsigned k_bits = 16;
  static constexpr std::uint64_t k_most = (std::uint64_t{1} << k_bits) - 1;
  static constexpr std::size_t k_entries = 8192;  // sites so far apart share an entry

  Find find_;
  std::array<std::atomic<std::uint64_t>, k_entries> entries_{};
};

}  // namespace terrace::observe
