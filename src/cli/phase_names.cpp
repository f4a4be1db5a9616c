#include "cli/phase_names.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"

namespace terrace::cli {

namespace {

// What the C++ library brings along is not what people mean.
bool is_library_name(const std::string& name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

}  // namespace

PhaseNames resolve_phases(const std::vector<std::string>& wanted, std::span<const std::string> known) {
  PhaseNames names;
  for (const auto& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      names.functions.push_back(name);
      continue;
    }
    std::set<std::string> candidates;
    for (const auto& function : known)
      if (function.ends_with("::" + name) && !is_library_name(function)) candidates.insert(function);
    if (candidates.size() > 1)
      throw Error(Code::invalid, fmt::format("--phases {}: {} functions are called that, {}; write one of them",
                                             name, candidates.size(), fmt::join(candidates, ", ")));
    if (candidates.empty()) names.unknown.push_back(name);
    names.functions.push_back(candidates.empty() ? name : *candidates.begin());
  }
  return names;
}

}  // namespace terrace::cli
