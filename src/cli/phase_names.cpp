#include "cli/phase_names.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "observe/symbols/symbol_names.hpp"

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
    // As the symbol is called: mangled, or with the underscores that Fortran appends.
    auto plain = observe::readable_name(name.c_str());
    while (plain.size() > 1 && plain.ends_with('_')) plain.pop_back();
    const auto whole = std::find_if(known.begin(), known.end(), [&](const std::string& function) {
      return function == name || function == plain;
    });
    if (whole != known.end()) {
      names.functions.push_back(*whole);
      continue;
    }
    std::set<std::string> candidates;
    for (const auto& function : known) {
      const bool ends_so = function.ends_with("::" + name) || function.ends_with("::" + plain);
      if (ends_so && !is_library_name(function)) candidates.insert(function);
    }
    if (candidates.size() > 1)
      throw Error(Code::invalid, fmt::format("--phases {}: {} functions are called that, {}; write one of them",
                                             name, candidates.size(), fmt::join(candidates, ", ")));
    if (candidates.empty()) names.unknown.push_back(name);
    names.functions.push_back(candidates.empty() ? name : *candidates.begin());
  }
  return names;
}

}  // namespace terrace::cli
