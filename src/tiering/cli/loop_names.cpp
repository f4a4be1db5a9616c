// See loop_names.hpp.
#include "cli/loop_names.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <vector>

#include "cli/name_match.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

// "solve:120", as its parts.
struct Wanted {
  std::string head;    // a function or a file; all of it where there is no number
  std::string number;  // with its mark: ":120"; empty: none
};

Wanted parts_of(const std::string& wanted) {
  const auto at = observe::loop_separator(wanted);
  return at == std::string::npos ? Wanted{wanted, ""} : Wanted{wanted.substr(0, at), wanted.substr(at)};
}

std::vector<std::string> functions_of(std::span<const observe::LoopName> known) {
  std::set<std::string> functions;
  for (const auto& loop : known) functions.insert(loop.function);
  return {functions.begin(), functions.end()};
}

bool is_in_file(const observe::LoopName& loop, const std::string& path) {
  return !loop.file.empty() && loop.file == path.substr(path.rfind('/') + 1);
}

std::set<std::string> loops_called(const Wanted& wanted, std::span<const observe::LoopName> known,
                                   const std::vector<std::string>& functions) {
  std::set<std::string> loops;
  for (const auto& loop : known) {
    const auto text = loop.text();
    const bool is_of_one = std::ranges::find(functions, loop.function) != functions.end();
    if ((is_of_one && text == loop.function + wanted.number) ||
        (is_in_file(loop, wanted.head) && wanted.number == ":" + std::to_string(loop.line)))
      loops.insert(text);
  }
  return loops;
}

// Loops of the function or the file that was named, the nearest line first; else of functions with a similar name.
std::vector<std::string> near_loops(const Wanted& wanted, std::span<const observe::LoopName> known,
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

[[noreturn]] void refuse_several(const std::string& wanted, const auto& candidates, const char* what) {
  throw Error(Code::invalid, fmt::format("--loop {}: {} {} are called that, {}; write one of them", wanted,
                                         candidates.size(), what, fmt::join(candidates, ", ")));
}

}  // namespace

LoopChoice resolve_loop(const std::string& wanted, std::span<const observe::LoopName> known) {
  const auto is_meant = [&](const observe::LoopName& loop) {
    return matches_pattern(wanted, loop.text()) || matches_pattern(wanted, loop.function);
  };
  const bool is_exact = std::ranges::any_of(
      known, [&](const observe::LoopName& loop) { return loop.text() == wanted || loop.function == wanted; });
  if (is_exact || std::ranges::any_of(known, is_meant)) return {wanted, ""};
  const auto parts = parts_of(wanted);
  const auto functions =
      is_pattern(wanted) ? std::vector<std::string>{} : matching_names(parts.head, functions_of(known));
  if (parts.number.empty()) {
    if (functions.size() > 1) refuse_several(wanted, functions, "functions with loops");
    if (functions.size() == 1) return {functions.front(), ""};
  } else {
    const auto loops = loops_called(parts, known, functions);
    if (loops.size() > 1) refuse_several(wanted, loops, "loops");
    if (loops.size() == 1) return {*loops.begin(), ""};
  }
  const auto near = near_loops(parts, known, functions);
  return {wanted, fmt::format("no loop is called '{}'{}", wanted,
                              near.empty() ? std::string() : fmt::format("; there is {}", fmt::join(near, ", ")))};
}

}  // namespace terrace::cli
