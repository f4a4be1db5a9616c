// SPDX-License-Identifier: Apache-2.0
// Disables steps of the planners' searches, to measure the contribution of each (`terrace lab experiment
// ablation`, through the Python bindings).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::strategy {

inline constexpr std::string_view k_search_steps[] = {"tunings", "weights", "prices", "stays", "refine"};

// Returns the disabled steps of the calling thread; empty by default.
inline std::vector<std::string>& disabled_search_steps() {
  static thread_local std::vector<std::string> parts;
  return parts;
}
inline bool is_step_enabled(std::string_view part) {
  return std::ranges::count(disabled_search_steps(), part) == 0;
}

}  // namespace terrace::strategy
