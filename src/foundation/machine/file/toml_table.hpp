// SPDX-License-Identifier: Apache-2.0
// Reads one table of a TOML file under a schema: each key is read with its type. Errors are one line with file,
// line, key, what is wrong and what to do. The readers of machine files, plan files and hints files use it.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace terrace::machine {

// Throws Error{invalid} for a text that is not TOML: "FILE:LINE: message of the parser", in one line.
[[noreturn]] void throw_parse_error(const toml::parse_error& error, const std::string& file);

class TomlTable {
 public:
  // `prefix` names the table in messages ("path" for an entry of [[path]], "" for the top level).
  TomlTable(const toml::table& table, std::string file, std::string prefix)
      : table_(table), file_(std::move(file)), prefix_(std::move(prefix)) {}

  // Throws for the first key that is not in `keys`.
  void allow_only(const std::vector<std::string>& keys) const;
  [[nodiscard]] bool has(std::string_view key) const { return table_.get().contains(key); }
  // Returns all keys, in the order of the file.
  [[nodiscard]] std::vector<std::string> keys() const;

  // Reads a name that can be used in a budget or on a command line: letters, digits and "_-.+:".
  [[nodiscard]] std::string name(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] bool holds_number(std::string_view key) const;
  [[nodiscard]] bool holds_table(std::string_view key) const;
  [[nodiscard]] bool holds_texts(std::string_view key) const;  // an array of texts only
  // Reads a text, or an integer as text.
  [[nodiscard]] std::string text_or_whole_number(std::string_view key) const;
  [[nodiscard]] Bytes size(std::string_view key) const;                // above 0
  [[nodiscard]] Seconds time(std::string_view key) const;              // above 0
  [[nodiscard]] BytesPerSecond bandwidth(std::string_view key) const;  // above 0
  [[nodiscard]] double frequency(std::string_view key) const;          // above 0
  [[nodiscard]] double number(std::string_view key, double min_value) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t min_value, std::int64_t max_value) const;
  [[nodiscard]] Seconds time_or_zero(std::string_view key) const;
  [[nodiscard]] BytesPerSecond bandwidth_or_zero(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
  // Reads an array of names and of arrays of names. Returns for each entry its names, and whether it was an array.
  [[nodiscard]] std::vector<std::pair<std::vector<std::string>, bool>> names_and_lists(std::string_view key) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key) const;  // finite
  [[nodiscard]] bool flag(std::string_view key) const;

  // Returns the entries of [[key]]; none if it is absent.
  [[nodiscard]] std::vector<TomlTable> entries(std::string_view key) const;
  [[nodiscard]] TomlTable table(std::string_view key) const;

  // Returns the line of a key, or of the table if the key is absent.
  [[nodiscard]] std::uint32_t line(std::string_view key) const;
  [[nodiscard]] std::uint32_t line() const { return table_.get().source().begin.line; }

  // Throws Error{invalid} about a key: "FILE:LINE: PREFIX.KEY: TEXT".
  [[noreturn]] void refuse(std::string_view key, const std::string& text) const;

 private:
  [[nodiscard]] std::string full(std::string_view key) const;
  [[nodiscard]] const std::string& checked_name(std::string_view key, const std::string& text) const;
  [[nodiscard]] const toml::node& need(std::string_view key) const;
  [[nodiscard]] std::string need_text(std::string_view key, const char* example) const;
  template <class Parse>
  auto quantity(std::string_view key, const char* example, bool zero, Parse parse) const;

  std::reference_wrapper<const toml::table> table_;
  std::string file_;
  std::string prefix_;
};

}  // namespace terrace::machine
