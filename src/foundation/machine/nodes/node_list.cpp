// SPDX-License-Identifier: Apache-2.0
// Implements parse_node_list() of node_files.hpp.
#include <algorithm>
#include <charconv>

#include "machine/nodes/node_files.hpp"

namespace terrace::machine {

namespace {

// Parses a number at the beginning of the text and removes it.
std::optional<int> take_number(std::string_view& text) {
  int number = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Parses "3" or "3-5" at the beginning of the text and removes it.
std::optional<std::pair<int, int>> take_range(std::string_view& text) {
  const auto first = take_number(text);
  if (!first) return std::nullopt;
  if (!text.starts_with('-')) return std::pair{*first, *first};
  text.remove_prefix(1);
  const auto last = take_number(text);
  if (!last || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

std::optional<std::vector<int>> parse_node_list(std::string_view text, const std::vector<int>& all) {
  const bool others = text.starts_with('!');
  if (others) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  std::vector<int> named;
  if (text == "all") {
    named = all;
    text = {};
  }
  for (bool is_first = true; !text.empty(); is_first = false) {
    if (!is_first) {
      if (!text.starts_with(',')) return std::nullopt;
      text.remove_prefix(1);
    }
    const auto range = take_range(text);
    if (!range) return std::nullopt;
    for (int node = range->first; node <= range->second; ++node) {
      if (std::ranges::find(all, node) == all.end()) return std::nullopt;
      named.push_back(node);
    }
  }
  std::vector<int> nodes;
  for (const int node : all)
    if ((std::ranges::find(named, node) != named.end()) != others) nodes.push_back(node);
  std::ranges::sort(nodes);
  if (nodes.empty()) return std::nullopt;
  return nodes;
}

}  // namespace terrace::machine
