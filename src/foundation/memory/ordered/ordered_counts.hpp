// How much data of which intent was placed where, in memory that the launcher shares with a process: what it says
// at the end. The process alone writes it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace terrace::memory {

inline constexpr std::size_t k_counted_places = 64;

struct OrderedCounts {
  struct Intent {
    std::array<char, 64> name{};  // "": the entry is not used
    // Bytes by place, the last entry for what was left to the kernel. `most`: as it was when the sum was largest.
    std::array<std::atomic<std::uint64_t>, k_counted_places + 1> now{};
    std::array<std::atomic<std::uint64_t>, k_counted_places + 1> most{};
    std::atomic<std::uint64_t> max_sum{0};
  };
  std::array<Intent, 64> intents{};    // by number; what is beyond is placed and not counted
  std::atomic<std::int32_t> error{0};  // errno value of the first part that was refused
};

}  // namespace terrace::memory
