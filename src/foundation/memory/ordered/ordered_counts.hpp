// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that the agent's heap placed, by intent (memory attribute of an allocation) and place, in
// memory that a process shares with its launcher, which reports them at the end. Only the process writes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace terrace::memory {

inline constexpr std::size_t k_counted_places = 64;

struct OrderedCounts {
  struct Intent {
    std::array<char, 64> name{};  // "": unused entry
    // Bytes by place; the last entry counts those left to the kernel. `at_peak`: when the sum was largest.
    std::array<std::atomic<std::uint64_t>, k_counted_places + 1> now{};
    std::array<std::atomic<std::uint64_t>, k_counted_places + 1> at_peak{};
    std::atomic<std::uint64_t> max_sum{0};
  };
  std::array<Intent, 64> intents{};    // by number; data of further intents are not counted
  std::atomic<std::int32_t> error{0};  // errno value of the first refusal
};

}  // namespace terrace::memory
