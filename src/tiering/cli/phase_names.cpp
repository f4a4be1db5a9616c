#include "cli/phase_names.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/name_match.hpp"
#include "core/error.hpp"

namespace terrace::cli {

PhaseNames resolve_phases(const std::vector<std::string>& wanted, std::span<const std::string> known) {
  PhaseNames names;
  for (const auto& name : wanted) {
    const auto candidates = matching_names(name, known);
    const bool is_first = names.functions.empty();
    if (candidates.size() > 1 && is_first && is_pattern(name))
      throw Error(
          Code::invalid,
          fmt::format("--phases {}: {} functions match, {}; write the one first that an iteration begins with",
                      name, candidates.size(), fmt::join(candidates, ", ")));
    if (candidates.size() > 1 && !is_pattern(name))
      throw Error(Code::invalid, fmt::format("--phases {}: {} functions are called that, {}; write one of them",
                                             name, candidates.size(), fmt::join(candidates, ", ")));
    if (candidates.empty()) {
      names.unknown.push_back(name);
      names.functions.push_back(name);
    }
    for (const auto& function : candidates)
      if (std::ranges::find(names.functions, function) == names.functions.end())
        names.functions.push_back(function);
  }
  return names;
}

}  // namespace terrace::cli
