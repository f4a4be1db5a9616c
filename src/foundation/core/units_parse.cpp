// SPDX-License-Identifier: Apache-2.0
// Parses quantities of options and files ("16GiB", "86ns"), independently of the locale. The decimal exponent of
// the unit is added to that of the number before the text is converted, so that "86ns" is the double nearest to
// 86e-9.
//
// Apart from formatting, because parsing a double requires libm, and the library inside users' processes, which
// never parses one, depends on libc alone.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "core/error.hpp"
#include "core/units.hpp"
#include "core/units_tables.hpp"

namespace terrace {
namespace {

struct Quantity {
  std::string_view number;
  Unit unit;
};

bool is_same(std::string_view name, std::string_view other, bool any_case) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(name, other, [&](char a, char b) { return any_case ? lower(a) == lower(b) : a == b; });
}

// Splits "1.5 GiB" into number and unit. Returns nothing if there is no number or the unit is unknown.
std::optional<Quantity> split_quantity(std::string_view text, std::span<const Unit> units, bool any_case = false) {
  std::size_t end = 0;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  const auto number = text.substr(0, end);
  while (end < text.size() && text[end] == ' ') ++end;
  const auto name = text.substr(end);
  if (number.empty()) return std::nullopt;
  for (const auto& unit : units) {
    if (is_same(unit.name, name, any_case)) return Quantity{number, unit};
  }
  return std::nullopt;
}

std::optional<double> to_double(const Quantity& quantity) {
  const auto scaled = std::string(quantity.number) + 'e' + std::to_string(quantity.unit.ten);
  double value = 0;
  const auto [end, error] = std::from_chars(scaled.data(), scaled.data() + scaled.size(), value);
  if (error != std::errc{} || end != scaled.data() + scaled.size()) return std::nullopt;
  return value * static_cast<double>(std::uint64_t{1} << quantity.unit.two);
}

[[noreturn]] void refuse(std::string_view text, const char* what, const char* example) {
  throw Error(Code::invalid, "'" + std::string(text) + "' is not " + what + "; write for example " + example);
}

// Rounds to the nearest integer, ties to even.
std::uint64_t nearest_whole(double value) {
  const auto whole = static_cast<std::uint64_t>(value);
  const auto rest = value - static_cast<double>(whole);
  return rest > 0.5 || (rest == 0.5 && whole % 2 == 1) ? whole + 1 : whole;
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  static constexpr const char* k_what = "a size";
  static constexpr const char* k_example = "16GiB, 64MiB or 200MB";
  const auto quantity = split_quantity(text, k_byte_units, true);
  if (!quantity) refuse(text, k_what, k_example);
  // Integers are parsed exactly: a double has only 53 bits of mantissa.
  std::uint64_t whole = 0;
  const auto number = quantity->number;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), whole);
  if (error == std::errc{} && end == number.data() + number.size()) {
    std::uint64_t unit = std::uint64_t{1} << quantity->unit.two;
    for (int i = 0; i < quantity->unit.ten; ++i) unit *= 10;
    if (__builtin_mul_overflow(whole, unit, &whole)) refuse(text, k_what, k_example);
    return {whole};
  }
  const auto value = to_double(*quantity);
  constexpr double k_two_to_64 = 18446744073709551616.0;
  if (!value || *value >= k_two_to_64) refuse(text, k_what, k_example);
  return {nearest_whole(*value)};
}

Seconds parse_seconds(std::string_view text) {
  const auto quantity = split_quantity(text, k_second_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a time", "86ns, 1.5us or 2s");
  return {*value};
}

BytesPerSecond parse_bandwidth(std::string_view text) {
  const auto quantity = split_quantity(text, k_bandwidth_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a bandwidth", "16GB/s, 2000MB/s or 15GiB/s");
  return {*value};
}

double parse_frequency(std::string_view text) {
  const auto quantity = split_quantity(text, k_frequency_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a frequency", "2.4GHz or 1300MHz");
  return *value;
}

}  // namespace terrace
