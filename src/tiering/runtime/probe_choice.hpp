// Which functions of a program without hooks are worth probing: those that take much of its time and are not
// called so often that the probes would.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace terrace::runtime {

inline constexpr double k_share_of_probed = 0.03;     // of the samples, at least
inline constexpr std::size_t k_max_probed = 8;        // functions
inline constexpr double k_calls_of_a_function = 200;  // a second
inline constexpr double k_calls_of_all = 250;  // at 20 us, as in a virtual machine, 0.5 % of the thread's time

// The functions that most samples are in, by where they begin; the most first. `samples`: how many are in each; 0
// is code of no known function.
std::vector<std::uint64_t> hot_functions(const std::map<std::uint64_t, std::uint64_t>& samples);

// Of functions that were called so often in so many seconds, by position: those that are called too often, and the
// most called of the rest until all together are called seldom enough.
std::vector<std::uint32_t> called_too_often(const std::vector<std::uint64_t>& calls, double seconds);

}  // namespace terrace::runtime
