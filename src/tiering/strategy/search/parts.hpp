// Parts of the planners' searches that can be left out, to see what each of them brings
// (`terrace lab experiment ablation`).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::strategy {

inline constexpr std::string_view k_parts[] = {"tunings", "weights", "prices", "stays", "refine"};

// Of this thread; all are there where nobody says otherwise.
inline std::vector<std::string>& left_out() {
  static thread_local std::vector<std::string> parts;
  return parts;
}
inline bool has_part(std::string_view part) { return std::ranges::count(left_out(), part) == 0; }

}  // namespace terrace::strategy
