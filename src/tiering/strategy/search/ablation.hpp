// Parts of the planners' searches that can be left out, to see what each of them brings
// (`terrace lab experiment ablation`).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::strategy {

inline constexpr std::string_view k_search_steps[] = {"tunings", "weights", "prices", "stays", "refine"};

// Of this thread; all are there where nobody says otherwise.
inline std::vector<std::string>& disabled_search_steps() {
  static thread_local std::vector<std::string> parts;
  return parts;
}
inline bool is_step_enabled(std::string_view part) {
  return std::ranges::count(disabled_search_steps(), part) == 0;
}

}  // namespace terrace::strategy
