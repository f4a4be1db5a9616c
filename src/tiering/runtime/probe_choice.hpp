// SPDX-License-Identifier: Apache-2.0
// Chooses the functions of a program without hooks that probes are placed on, for the agent's
// FunctionEntryMonitor. These take much of its time and are called seldom enough that the probes' overhead stays
// negligible.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace terrace::runtime {

inline constexpr double k_min_sample_share = 0.03;  // of all samples, for a function to be probed
inline constexpr std::size_t k_max_probed = 8;      // functions
inline constexpr double k_max_call_rate = 200;      // calls of one function per second
inline constexpr double k_max_total_rate = 250;     // 0.5 % of a thread's time at 20 us a call (virtual machine)

// Returns the entry addresses of the functions with most samples, in descending order. `samples`: number of
// samples by entry address; key 0 stands for code of no known function.
std::vector<std::uint64_t> hot_functions(const std::map<std::uint64_t, std::uint64_t>& samples);

// Returns the positions of the functions that are called too often: those above k_max_call_rate, and the most
// called of the rest until all others together stay below k_max_total_rate. `calls`: by function, within
// `seconds`.
std::vector<std::uint32_t> called_too_often(const std::vector<std::uint64_t>& calls, double seconds);

}  // namespace terrace::runtime
