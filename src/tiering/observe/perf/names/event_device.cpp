// SPDX-License-Identifier: Apache-2.0
// Reads the sysfs files of the kernel's event devices, for the launcher's choice of events. See event_device.hpp.
#include "observe/perf/names/event_device.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>

#include "core/error.hpp"

namespace terrace::observe {

namespace {

// Returns the first line of a file; nothing where it cannot be read.
std::optional<std::string> line_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!stream || !std::getline(stream, line)) return std::nullopt;
  return line;
}

[[noreturn]] void refuse(std::string_view what, std::string_view text) {
  throw Error(Code::invalid, std::string(what) + ": " + std::string(text));
}

std::optional<std::uint64_t> number(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Returns the text up to the separator, and removes both from `text`.
std::string_view cut(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> event_terms(std::string_view text) {
  std::vector<std::pair<std::string, std::uint64_t>> terms;
  while (!text.empty()) {
    auto term = cut(text, ',');
    const bool valued = term.find('=') != std::string_view::npos;
    const auto name = cut(term, '=');
    const auto value = valued ? number(term) : std::optional<std::uint64_t>(1);
    if (name.empty() || !value) refuse("not a term of an event (NAME or NAME=NUMBER)", name);
    terms.emplace_back(name, *value);
  }
  return terms;
}

void place_bits(std::string_view format, std::uint64_t value, Encoding& encoding) {
  auto rest = format;
  const auto word = cut(rest, ':');
  auto* const target = word == "config"    ? &encoding.config
                       : word == "config1" ? &encoding.config1
                       : word == "config2" ? &encoding.config2
                                           : nullptr;
  if (!target || rest.empty()) refuse("not a format of an event", format);
  auto left = value;
  std::uint64_t placed = 0;
  while (!rest.empty()) {
    auto range = cut(rest, ',');
    const bool several = range.find('-') != std::string_view::npos;
    const auto low = number(cut(range, '-'));
    const auto high = several ? number(range) : low;
    if (!low || !high || *low > *high || *high > 63) refuse("not a format of an event", format);
    for (auto bit = *low; bit <= *high; ++bit, left >>= 1U) {
      if ((placed >> bit & 1) != 0) refuse("a bit twice in the format of an event", format);
      placed |= 1ULL << bit;
      *target = (*target & ~(1ULL << bit)) | (left & 1U) << bit;
    }
  }
  if (left != 0) refuse("too large for the format " + std::string(format), std::to_string(value));
}

bool EventDevice::exists() const { return line_of(folder_ / "type").has_value(); }

std::uint32_t EventDevice::type() const {
  const auto file = folder_ / "type";
  const auto line = line_of(file);
  const auto value = line ? number(*line) : std::nullopt;
  if (!value)
    throw Error(Code::failed,
                file.string() + ": it holds no type number of the event device; load the device's kernel driver");
  return static_cast<std::uint32_t>(*value);
}

bool EventDevice::has_format(std::string_view name) const {
  return line_of(folder_ / "format" / name).has_value();
}

std::optional<std::string> EventDevice::event(std::string_view name) const {
  return line_of(folder_ / "events" / name);
}

Encoding EventDevice::encode(std::string_view terms, std::string_view instead) const {
  std::map<std::string, std::uint64_t> values;
  for (const auto& text : {terms, instead})
    for (const auto& [name, value] : event_terms(text)) values[name] = value;
  Encoding encoding;
  for (const auto& [name, value] : values) {
    if (name == "config") {
      encoding.config |= value;
    } else if (name == "config1") {
      encoding.config1 |= value;
    } else if (name == "config2") {
      encoding.config2 |= value;
    } else {
      const auto file = folder_ / "format" / name;
      const auto format = line_of(file);
      if (!format) refuse("no such file", file.string());
      place_bits(*format, value, encoding);
    }
  }
  return encoding;
}

}  // namespace terrace::observe
