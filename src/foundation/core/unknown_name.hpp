// The one text of an error for a name that nothing has: what was asked for, and what there is.
#pragma once

#include <ranges>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace terrace {

// "a, b, c".
template <std::ranges::input_range Names>
[[nodiscard]] std::string listed_names(const Names& names) {
  std::string text;
  for (const auto& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Throws Error{invalid}: "there is no KIND 'NAME'; there are a, b, c".
template <std::ranges::input_range Names>
[[noreturn]] void refuse_name(const std::string& kind, std::string_view name, const Names& names) {
  throw Error(Code::invalid,
              "there is no " + kind + " '" + std::string(name) + "'; there are " + listed_names(names));
}

// The variant of that name; of a table of pointers to what has name(). Throws Error{invalid} naming all of them.
template <std::ranges::input_range Table>
[[nodiscard]] auto& find_named(const std::string& kind, std::string_view name, const Table& table) {
  for (const auto* variant : table)
    if (variant->name() == name) return *variant;
  refuse_name(kind, name, table | std::views::transform([](const auto* variant) { return variant->name(); }));
}

}  // namespace terrace
