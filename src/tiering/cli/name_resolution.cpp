// SPDX-License-Identifier: Apache-2.0
// Matches the names of --phases and --loop against a sorted list of known functions and loops: exact, by unique
// ending, by symbol, or by pattern. See name_resolution.hpp.
#include "cli/name_resolution.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "machine/nearest_name.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::cli {

namespace {

// Names of the C++ library are never candidates: users mean their own functions.
bool is_library_name(const std::string& name) {
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

// Returns the forms that debug information may have of a name: as written; demangled, without Fortran's trailing
// underscores; and without the prefix of a Fortran module.
std::vector<std::string> spellings(const std::string& wanted) {
  auto plain = observe::readable_name(wanted.c_str());
  while (plain.size() > 1 && plain.ends_with('_')) plain.pop_back();
  std::vector<std::string> all{wanted, plain};
  constexpr std::string_view k_module = "_MOD_";
  if (const auto at = wanted.find(k_module); wanted.starts_with("__") && at != std::string::npos)
    all.push_back(wanted.substr(at + k_module.size()));
  return all;
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?") != std::string::npos; }

bool matches_pattern(const std::string& pattern, const std::string& name) {
  return is_pattern(pattern) && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// Returns the known names that `wanted` means: the equal one; else, for a pattern (fnmatch), all that match,
// except those of the C++ library; else those that end with it after a "::". Accepts symbols as nm prints them:
// mangled, with Fortran's underscores, or of a Fortran module ("__grid_MOD_smooth").
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

// Returns at most three known names for "did you mean", the nearest first: one that differs in a few letters, then
// those that contain `wanted` or are contained in it.
std::vector<std::string> near_names(const std::string& wanted, std::span<const std::string> known) {
  constexpr std::size_t k_max = 3;
  constexpr std::size_t k_min_letters = 3;  // shorter names are contained in too many others
  std::vector<std::string> near;
  const auto add = [&near](const std::string& name) {
    if (near.size() < k_max && std::ranges::find(near, name) == near.end()) near.push_back(name);
  };
  if (const auto nearest = machine::nearest_name(wanted, {known.begin(), known.end()}); !nearest.empty())
    add(nearest);
  for (const auto& name : known) {
    if (is_library_name(name) || std::min(name.size(), wanted.size()) < k_min_letters) continue;
    if (name.find(wanted) != std::string::npos || wanted.find(name) != std::string::npos) add(name);
  }
  return near;
}

// A reference such as "solve:120", split.
struct LoopReference {
  std::string head;    // a function or a file; the whole reference if it has no line number
  std::string number;  // with its separator: ":120"; empty: none
};

LoopReference split_reference(const std::string& wanted) {
  const auto at = observe::loop_separator(wanted);
  return at == std::string::npos ? LoopReference{wanted, ""}
                                 : LoopReference{wanted.substr(0, at), wanted.substr(at)};
}

std::vector<std::string> functions_of(std::span<const observe::LoopName> known) {
  std::set<std::string> functions;
  for (const auto& loop : known) functions.insert(loop.function);
  return {functions.begin(), functions.end()};
}

bool is_in_file(const observe::LoopName& loop, const std::string& path) {
  return !loop.file.empty() && loop.file == path.substr(path.rfind('/') + 1);
}

// Returns the loops at the line of one of the functions, or of the file that `wanted` names.
std::set<std::string> find_loops(const LoopReference& wanted, std::span<const observe::LoopName> known,
                                 const std::vector<std::string>& functions) {
  std::set<std::string> loops;
  for (const auto& loop : known) {
    const auto text = loop.text();
    const bool is_in_function = std::ranges::find(functions, loop.function) != functions.end();
    if ((is_in_function && text == loop.function + wanted.number) ||
        (is_in_file(loop, wanted.head) && wanted.number == ":" + std::to_string(loop.line)))
      loops.insert(text);
  }
  return loops;
}

// Returns at most three loops for "there is": of the named function or file, the nearest line first; else of
// functions with a similar name.
std::vector<std::string> near_loops(const LoopReference& wanted, std::span<const observe::LoopName> known,
                                    const std::vector<std::string>& functions) {
  constexpr std::size_t k_max = 3;
  const auto named = functions.empty() ? near_names(wanted.head, functions_of(known)) : functions;
  const auto line = wanted.number.empty() ? 0 : std::atol(wanted.number.c_str() + 1);
  std::set<std::pair<long, std::string>> by_distance;
  for (const auto& loop : known)
    if (is_in_file(loop, wanted.head) || std::ranges::find(named, loop.function) != named.end())
      by_distance.emplace(std::labs(static_cast<long>(loop.line) - line), loop.text());
  std::vector<std::string> near;
  for (const auto& [distance, text] : by_distance)
    if (near.size() < k_max) near.push_back(text);
  return near;
}

[[noreturn]] void throw_ambiguous(const std::string& wanted, const auto& candidates, const char* what) {
  throw Error(Code::invalid, fmt::format("--loop {}: {} {} are called that, {}; write one of them", wanted,
                                         candidates.size(), what, fmt::join(candidates, ", ")));
}

}  // namespace

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

LoopChoice resolve_loop(const std::string& wanted, std::span<const observe::LoopName> known) {
  const auto is_meant = [&](const observe::LoopName& loop) {
    return matches_pattern(wanted, loop.text()) || matches_pattern(wanted, loop.function);
  };
  const bool is_exact = std::ranges::any_of(
      known, [&](const observe::LoopName& loop) { return loop.text() == wanted || loop.function == wanted; });
  if (is_exact || std::ranges::any_of(known, is_meant)) return {wanted, ""};
  const auto parts = split_reference(wanted);
  const auto functions =
      is_pattern(wanted) ? std::vector<std::string>{} : matching_names(parts.head, functions_of(known));
  if (parts.number.empty()) {
    if (functions.size() > 1) throw_ambiguous(wanted, functions, "functions with loops");
    if (functions.size() == 1) return {functions.front(), ""};
  } else {
    const auto loops = find_loops(parts, known, functions);
    if (loops.size() > 1) throw_ambiguous(wanted, loops, "loops");
    if (loops.size() == 1) return {*loops.begin(), ""};
  }
  const auto near = near_loops(parts, known, functions);
  return {wanted, fmt::format("no loop is called '{}'{}", wanted,
                              near.empty() ? std::string() : fmt::format("; there is {}", fmt::join(near, ", ")))};
}

}  // namespace terrace::cli
