// SPDX-License-Identifier: Apache-2.0
// Reads typed keys of TOML tables with error messages, for machine files, plan files and hints files. See
// toml_table.hpp.
#include "machine/file/toml_table.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::machine {
namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.+:").find(c) != std::string_view::npos;
}

// Quotes user text, truncated to one line and without control characters.
std::string quoted_excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > 60 ? "..." : "");
}

const char* type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

std::string short_number(double value) {
  auto text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

void throw_parse_error(const toml::parse_error& error, const std::string& file) {
  const auto line = std::max<std::uint32_t>(1, error.source().begin.line);
  // The library quotes the source text, including newlines.
  std::string why(error.description());
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::replace_if(why.begin(), why.end(), is_control, '?');
  throw Error(Code::invalid,
              file + ":" + std::to_string(line) + ": this is not TOML: " + why + "; correct the line");
}

// Returns the key with the table's prefix, as messages name it.
std::string TomlTable::full(std::string_view key) const {
  if (prefix_.empty()) return quoted_excerpt(key);
  if (key.empty()) return prefix_;
  return prefix_ + "." + quoted_excerpt(key);
}

std::uint32_t TomlTable::line(std::string_view key) const {
  const auto it = table_.get().find(key);
  if (it == table_.get().end()) return line();
  const auto at = it->first.source().begin.line;
  return at != 0 ? at : it->second.source().begin.line;
}

void TomlTable::refuse(std::string_view key, const std::string& text) const {
  // An empty file has no line.
  const auto at = std::max<std::uint32_t>(1, line(key));
  throw Error(Code::invalid, file_ + ":" + std::to_string(at) + ": " + full(key) + ": " + text);
}

void TomlTable::allow_only(const std::vector<std::string>& keys) const {
  for (const auto& [key, node] : table_.get()) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    const auto nearest = nearest_name(key.str(), keys);
    if (!nearest.empty()) refuse(key.str(), "unknown key; did you mean '" + nearest + "'?");
    std::string all;
    for (const auto& known : keys) all += (all.empty() ? "" : ", ") + known;
    refuse(key.str(), "unknown key; the keys here are " + all);
  }
}

const toml::node& TomlTable::need(std::string_view key) const {
  const auto* node = table_.get().get(key);
  if (node == nullptr) refuse(key, "this key is missing; add it");
  return *node;
}

std::string TomlTable::need_text(std::string_view key, const char* example) const {
  const auto& node = need(key);
  const auto* text = node.as_string();
  if (text == nullptr) {
    refuse(key,
           std::string("expected a text, found ") + type_of(node) + "; write for example \"" + example + "\"");
  }
  return text->get();
}

template <class Parse>
auto TomlTable::quantity(std::string_view key, const char* example, bool zero, Parse parse) const {
  const auto text = need_text(key, example);
  const auto value = [&] {
    if (quoted_excerpt(text) != text)
      refuse(key, "'" + quoted_excerpt(text) + "' is no quantity; write for example " + example);
    try {
      return parse(text);
    } catch (const Error& error) {
      refuse(key, error.what());
    }
  }();
  if (!zero && !(value > decltype(value){}))
    refuse(key, "'" + text + "' is not above 0; write for example " + example);
  return value;
}

std::string TomlTable::name(std::string_view key) const { return checked_name(key, need_text(key, "hbm0")); }

const std::string& TomlTable::checked_name(std::string_view key, const std::string& text) const {
  if (text.empty()) refuse(key, "the name is empty; write for example \"hbm0\"");
  if (text.size() > 200 || !std::all_of(text.begin(), text.end(), is_name_letter)) {
    refuse(key, "'" + quoted_excerpt(text) + "' is not a name; use up to 200 letters, digits and _ - . + :");
  }
  return text;
}

std::string TomlTable::text(std::string_view key) const { return need_text(key, "a sentence"); }

bool TomlTable::holds_number(std::string_view key) const { return need(key).is_number(); }

bool TomlTable::holds_table(std::string_view key) const { return need(key).is_table(); }

bool TomlTable::holds_texts(std::string_view key) const {
  const auto* array = need(key).as_array();
  return array != nullptr && std::ranges::all_of(*array, [](const toml::node& node) { return node.is_string(); });
}

std::string TomlTable::text_or_whole_number(std::string_view key) const {
  const auto* const whole = need(key).as_integer();
  return whole != nullptr ? std::to_string(whole->get()) : text(key);
}

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, node] : table_.get()) keys.emplace_back(key.str());
  std::ranges::stable_sort(keys, {}, [&](const std::string& key) {
    const auto at = table_.get().find(key)->first.source().begin;
    return std::pair(at.line, at.column);
  });
  return keys;
}

Bytes TomlTable::size(std::string_view key) const { return quantity(key, "16GiB", false, parse_bytes); }
Seconds TomlTable::time(std::string_view key) const { return quantity(key, "86ns", false, parse_seconds); }
Seconds TomlTable::time_or_zero(std::string_view key) const { return quantity(key, "86ns", true, parse_seconds); }
BytesPerSecond TomlTable::bandwidth(std::string_view key) const {
  return quantity(key, "16GB/s", false, parse_bandwidth);
}
BytesPerSecond TomlTable::bandwidth_or_zero(std::string_view key) const {
  return quantity(key, "16GB/s", true, parse_bandwidth);
}
double TomlTable::frequency(std::string_view key) const { return quantity(key, "2.4GHz", false, parse_frequency); }

std::vector<std::string> TomlTable::texts(std::string_view key) const {
  const auto& node = need(key);
  const auto* array = node.as_array();
  if (array == nullptr)
    refuse(key, std::string("expected an array of texts, found ") + type_of(node) +
                    "; write for example [\"a\", \"b\"]");
  std::vector<std::string> texts;
  for (const auto& entry : *array) {
    if (!entry.is_string()) refuse(key, std::string("expected a text, found ") + type_of(entry));
    texts.push_back(entry.as_string()->get());
  }
  return texts;
}

std::vector<std::pair<std::vector<std::string>, bool>> TomlTable::names_and_lists(std::string_view key) const {
  const auto& node = need(key);
  const auto* array = node.as_array();
  if (array == nullptr)
    refuse(key, std::string("expected an array of names, found ") + type_of(node) +
                    "; write for example [\"hbm0\", \"ddr0\"]");
  const auto name_in = [&](const toml::node& entry) {
    if (!entry.is_string()) refuse(key, std::string("expected a name, found ") + type_of(entry));
    return checked_name(key, entry.as_string()->get());
  };
  std::vector<std::pair<std::vector<std::string>, bool>> found;
  for (const auto& entry : *array) {
    auto& [names, list] = found.emplace_back();
    const auto* inner = entry.as_array();
    list = inner != nullptr;
    if (!list) names.push_back(name_in(entry));
    if (list)
      for (const auto& one : *inner) names.push_back(name_in(one));
  }
  return found;
}

std::vector<double> TomlTable::numbers(std::string_view key) const {
  const auto& node = need(key);
  const auto* array = node.as_array();
  if (array == nullptr)
    refuse(key,
           std::string("expected an array of numbers, found ") + type_of(node) + "; write for example [1.0, 2.5]");
  std::vector<double> numbers;
  for (const auto& entry : *array) {
    const auto value = entry.is_number() ? entry.value<double>() : std::nullopt;
    if (!value) refuse(key, std::string("expected a number, found ") + type_of(entry));
    if (!std::isfinite(*value)) refuse(key, "its numbers must be finite");
    numbers.push_back(*value);
  }
  return numbers;
}

double TomlTable::number(std::string_view key, double min_value) const {
  const auto& node = need(key);
  const auto value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value) refuse(key, std::string("expected a number, found ") + type_of(node) + "; write for example 10.0");
  if (!std::isfinite(*value) || *value < min_value) {
    refuse(key, "it must be a number of at least " + short_number(min_value));
  }
  return *value;
}

std::int64_t TomlTable::integer(std::string_view key, std::int64_t min_value, std::int64_t max_value) const {
  const auto& node = need(key);
  const auto* value = node.as_integer();
  if (value == nullptr) {
    refuse(key, std::string("expected a whole number, found ") + type_of(node) + "; write for example 8");
  }
  if (value->get() < min_value || value->get() > max_value) {
    refuse(key, std::to_string(value->get()) + " is out of range; it must lie between " +
                    std::to_string(min_value) + " and " + std::to_string(max_value));
  }
  return value->get();
}

bool TomlTable::flag(std::string_view key) const {
  const auto& node = need(key);
  const auto* value = node.as_boolean();
  if (value == nullptr) refuse(key, std::string("expected true or false, found ") + type_of(node));
  return value->get();
}

std::vector<TomlTable> TomlTable::entries(std::string_view key) const {
  std::vector<TomlTable> tables;
  const auto* node = table_.get().get(key);
  if (node == nullptr) return tables;
  const auto* array = node->as_array();
  const auto complain = [&] {
    refuse(key,
           std::string("expected tables, found ") + type_of(*node) + "; begin each with [[" + full(key) + "]]");
  };
  if (array == nullptr) complain();
  for (const auto& entry : *array) {
    if (!entry.is_table()) complain();
    tables.emplace_back(*entry.as_table(), file_, full(key));
  }
  return tables;
}

TomlTable TomlTable::table(std::string_view key) const {
  const auto& node = need(key);
  const auto* table = node.as_table();
  if (table == nullptr) {
    refuse(key, std::string("expected a table, found ") + type_of(node) + "; begin it with [" + full(key) + "]");
  }
  return {*table, file_, full(key)};
}

}  // namespace terrace::machine
