// See name_match.hpp.
#include "cli/name_match.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "machine/nearest_name.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::cli {

namespace {

// What the C++ library brings along is not what people mean.
bool is_library_name(const std::string& name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

// As it is written, and as debug information has it.
std::vector<std::string> spellings(const std::string& wanted) {
  auto plain = observe::readable_name(wanted.c_str());
  while (plain.size() > 1 && plain.ends_with('_')) plain.pop_back();
  std::vector<std::string> all{wanted, plain};
  constexpr std::string_view k_module = "_MOD_";
  if (const auto at = wanted.find(k_module); wanted.starts_with("__") && at != std::string::npos)
    all.push_back(wanted.substr(at + k_module.size()));
  return all;
}

}  // namespace

bool is_pattern(const std::string& name) { return name.find_first_of("*?") != std::string::npos; }

bool matches_pattern(const std::string& pattern, const std::string& name) {
  return is_pattern(pattern) && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> matching_names(const std::string& wanted, std::span<const std::string> known) {
  const auto spelled = spellings(wanted);
  for (const auto& spelling : spelled)
    if (std::ranges::find(known, spelling) != known.end()) return {spelling};
  std::set<std::string> candidates;
  for (const auto& name : known) {
    if (is_library_name(name)) continue;
    const bool ends_so =
        std::ranges::any_of(spelled, [&](const std::string& spelling) { return name.ends_with("::" + spelling); });
    if (ends_so || matches_pattern(wanted, name)) candidates.insert(name);
  }
  return {candidates.begin(), candidates.end()};
}

std::vector<std::string> near_names(const std::string& wanted, std::span<const std::string> known) {
  constexpr std::size_t k_max = 3;
  constexpr std::size_t k_word = 3;  // letters; fewer are in everything
  std::vector<std::string> near;
  const auto add = [&near](const std::string& name) {
    if (near.size() < k_max && std::ranges::find(near, name) == near.end()) near.push_back(name);
  };
  if (const auto nearest = machine::nearest_name(wanted, {known.begin(), known.end()}); !nearest.empty())
    add(nearest);
  for (const auto& name : known) {
    if (is_library_name(name) || std::min(name.size(), wanted.size()) < k_word) continue;
    if (name.find(wanted) != std::string::npos || wanted.find(name) != std::string::npos) add(name);
  }
  return near;
}

}  // namespace terrace::cli
