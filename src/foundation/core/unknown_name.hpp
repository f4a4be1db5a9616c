// SPDX-License-Identifier: Apache-2.0
// Makes the error message for an unknown name: what was requested, and which names exist. The stencil library's
// options and executors use it.
#pragma once

#include <ranges>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace terrace {

// Returns "a, b, c".
template <std::ranges::input_range Names>
[[nodiscard]] std::string join_names(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Throws Error{invalid}: "there is no KIND 'NAME'; there are a, b, c".
template <std::ranges::input_range Names>
[[noreturn]] void throw_unknown_name(const std::string& kind, std::string_view name, const Names& names) {
  throw Error(Code::invalid,
              "there is no " + kind + " '" + std::string(name) + "'; there are " + join_names(names));
}

// Returns the variant of that name in a table of pointers to objects with name(). Throws Error{invalid} with all
// names if there is none.
template <std::ranges::input_range Table>
[[nodiscard]] auto& find_named(const std::string& kind, std::string_view name, const Table& table) {
  for (const auto* variant : table)
    if (variant->name() == name) return *variant;
  throw_unknown_name(kind, name,
                     table | std::views::transform([](const auto* variant) { return variant->name(); }));
}

}  // namespace terrace
