// SPDX-License-Identifier: Apache-2.0
// Formats times and rates, independently of the locale. Exact formats move the decimal point into the unit, so
// that what was parsed from "86ns" is formatted as "86ns". Messages, tables and machine files use them. Sizes are
// in units_bytes.cpp.
#include "core/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/units_tables.hpp"

namespace terrace {
namespace {

// Returns 10^exponent, exact up to 10^22.
constexpr double ten_to(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// Returns value x 10^exponent.
constexpr double scaled(double value, int exponent) {
  return exponent < 0 ? value / ten_to(-exponent) : value * ten_to(exponent);
}

std::string significant_digits(double value, int significant) {
  std::array<char, 64> buffer{};
  // Fixed notation for values with more digits than requested: "12300s", never "1.23e+04s".
  const auto result = value >= ten_to(significant) ? std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                                                   value, std::chars_format::fixed, 0)
                                                   : std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                                                   value, std::chars_format::general, significant);
  return {buffer.data(), result.ptr};
}

// Formats three significant digits in the unit in which the number is between 1 and 1000.
std::string in_decimal_unit(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const auto& unit : units) {
    if (unit.two != 0 || unit.name == "KB/s") continue;
    // 0.9995 of a unit already rounds to 1 of it.
    if (value >= scaled(0.9995, unit.ten)) best = &unit;
  }
  return significant_digits(scaled(value, -best->ten), 3) + std::string(best->name);
}

// Formats the shortest digits that identify the double, with the decimal point moved into the unit.
std::string exact_in_unit(double value, std::span<const Unit> units) {
  std::array<char, 64> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
  const auto e = text.find('e');
  int exponent = 0;
  const char* first = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(first, text.data() + text.size(), exponent);
  std::string mantissa(text.substr(0, e));
  if (mantissa.size() > 1) mantissa.erase(1, 1);

  const Unit* best = &units.front();
  for (const auto& unit : units) {
    if (unit.two == 0 && unit.name != "KB/s" && unit.ten <= exponent) best = &unit;
  }
  const int before_point = exponent - best->ten + 1;  // digits left of the point
  if (before_point <= 0) {
    mantissa.insert(0, static_cast<std::size_t>(1 - before_point), '0');
    mantissa.insert(1, 1, '.');
  } else if (static_cast<std::size_t>(before_point) < mantissa.size()) {
    mantissa.insert(static_cast<std::size_t>(before_point), 1, '.');
  } else {
    mantissa.append(static_cast<std::size_t>(before_point) - mantissa.size(), '0');
  }
  return mantissa + std::string(best->name);
}

}  // namespace

std::string format(Seconds seconds) {
  if (!std::isfinite(seconds.value)) return "unbounded";
  if (seconds.value == 0) return "0s";
  auto text = in_decimal_unit(std::abs(seconds.value), k_second_units);
  if (seconds.value < 0) text.insert(text.begin(), '-');
  return text;
}

std::string format(BytesPerSecond bandwidth) {
  if (!std::isfinite(bandwidth.value)) return "unbounded";
  return in_decimal_unit(bandwidth.value, k_bandwidth_units);
}

std::string format_exact(Seconds seconds) {
  if (seconds.value == 0) return "0s";
  return exact_in_unit(seconds.value, k_second_units);
}

std::string format_exact(BytesPerSecond bandwidth) {
  if (bandwidth.value == 0) return "0B/s";
  return exact_in_unit(bandwidth.value, k_bandwidth_units);
}

std::string format_exact_frequency(double hertz) {
  if (hertz == 0) return "0Hz";
  return exact_in_unit(hertz, k_frequency_units);
}

}  // namespace terrace
