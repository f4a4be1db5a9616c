// Parsing and printing of quantities. Decimal units are parsed by adding to the decimal exponent before the text
// becomes a double, and printed by the reverse, so that "86ns" is the double nearest to 86e-9 and comes back as
// "86ns". Independent of the locale: this runs inside users' processes.
#include "base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/error.hpp"

namespace terrace {
namespace {

struct Unit {
  std::string_view name;
  int ten;  // power of ten
  int two;  // power of two
};

constexpr std::array k_byte_units{Unit{"", 0, 0},     Unit{"B", 0, 0},    Unit{"KiB", 0, 10}, Unit{"MiB", 0, 20},
                                  Unit{"GiB", 0, 30}, Unit{"TiB", 0, 40}, Unit{"PiB", 0, 50}, Unit{"kB", 3, 0},
                                  Unit{"KB", 3, 0},   Unit{"MB", 6, 0},   Unit{"GB", 9, 0},   Unit{"TB", 12, 0},
                                  Unit{"PB", 15, 0}};
constexpr std::array k_second_units{Unit{"ps", -12, 0}, Unit{"ns", -9, 0}, Unit{"us", -6, 0}, Unit{"ms", -3, 0},
                                    Unit{"s", 0, 0}};
constexpr std::array k_bandwidth_units{
    Unit{"B/s", 0, 0},  Unit{"KiB/s", 0, 10}, Unit{"MiB/s", 0, 20}, Unit{"GiB/s", 0, 30}, Unit{"TiB/s", 0, 40},
    Unit{"kB/s", 3, 0}, Unit{"KB/s", 3, 0},   Unit{"MB/s", 6, 0},   Unit{"GB/s", 9, 0},   Unit{"TB/s", 12, 0}};

constexpr std::array k_frequency_units{Unit{"Hz", 0, 0}, Unit{"kHz", 3, 0}, Unit{"MHz", 6, 0}, Unit{"GHz", 9, 0}};

struct Quantity {
  std::string_view number;
  Unit unit;
};

// Splits "1.5 GiB" into its number and its unit; nothing when the number is not one or the unit not known.
std::optional<Quantity> split(std::string_view text, std::span<const Unit> units) {
  std::size_t end = 0;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  const auto number = text.substr(0, end);
  while (end < text.size() && text[end] == ' ') ++end;
  const auto name = text.substr(end);
  if (number.empty()) return std::nullopt;
  for (const auto& unit : units) {
    if (unit.name == name) return Quantity{number, unit};
  }
  return std::nullopt;
}

std::optional<double> to_double(const Quantity& quantity) {
  const auto scaled = std::string(quantity.number) + 'e' + std::to_string(quantity.unit.ten);
  double value = 0;
  const auto [end, error] = std::from_chars(scaled.data(), scaled.data() + scaled.size(), value);
  if (error != std::errc{} || end != scaled.data() + scaled.size()) return std::nullopt;
  return std::ldexp(value, quantity.unit.two);
}

[[noreturn]] void refuse(std::string_view text, const char* what, const char* example) {
  throw Error(Code::invalid, "'" + std::string(text) + "' is not " + what + "; write for example " + example);
}

std::string digits(double value, int significant) {
  std::array<char, 64> buffer{};
  // Fixed notation for what has more digits than asked for: "12300s", never "1.23e+04s".
  const auto result = value >= std::pow(10.0, significant)
                          ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::round(value),
                                          std::chars_format::fixed, 0)
                          : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::general, significant);
  return {buffer.data(), result.ptr};
}

// Three significant digits in the unit in which the number lies between 1 and 1000.
std::string in_decimal_unit(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const auto& unit : units) {
    if (unit.two != 0 || unit.name == "KB/s") continue;
    // 0.9995 of the next unit already prints as 1 of it.
    if (value >= 0.9995 * std::pow(10.0, unit.ten)) best = &unit;
  }
  return digits(value * std::pow(10.0, -best->ten), 3) + std::string(best->name);
}

// The shortest digits that identify the double, with the decimal point moved into the unit.
std::string exactly_in(double value, std::span<const Unit> units) {
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

constexpr std::array k_iec{Unit{"PiB", 0, 50}, Unit{"TiB", 0, 40}, Unit{"GiB", 0, 30},
                           Unit{"MiB", 0, 20}, Unit{"KiB", 0, 10}, Unit{"B", 0, 0}};

}  // namespace

Bytes parse_bytes(std::string_view text) {
  static constexpr const char* k_what = "a size";
  static constexpr const char* k_example = "16GiB, 64MiB or 200MB";
  const auto quantity = split(text, k_byte_units);
  if (!quantity) refuse(text, k_what, k_example);
  // A whole number stays whole: a double holds only 53 bits of it.
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
  return {static_cast<std::uint64_t>(std::nearbyint(*value))};
}

Seconds parse_seconds(std::string_view text) {
  const auto quantity = split(text, k_second_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a time", "86ns, 1.5us or 2s");
  return {*value};
}

BytesPerSecond parse_bandwidth(std::string_view text) {
  const auto quantity = split(text, k_bandwidth_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a bandwidth", "16GB/s, 2000MB/s or 15GiB/s");
  return {*value};
}

double parse_frequency(std::string_view text) {
  const auto quantity = split(text, k_frequency_units);
  const auto value = quantity ? to_double(*quantity) : std::nullopt;
  if (!value || !std::isfinite(*value)) refuse(text, "a frequency", "2.4GHz or 1300MHz");
  return *value;
}

std::string format(Bytes bytes) {
  for (const auto& unit : k_iec) {
    const auto count = bytes.value >> unit.two;
    if (count == 0 && unit.two > 0) continue;
    if (count << unit.two == bytes.value) return std::to_string(count) + std::string(unit.name);
    // A whole number of a smaller unit is as readable as a fraction while it is short: "1536MiB".
    if (unit.two > 0) {
      const auto finer = bytes.value >> (unit.two - 10);
      if (finer << (unit.two - 10) == bytes.value && finer < 10000) continue;
    }
    const auto fraction = std::ldexp(static_cast<double>(bytes.value), -unit.two);
    return digits(fraction, 3) + std::string(unit.name);
  }
  return "0B";
}

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

std::string format_exact(Bytes bytes) {
  for (const auto& unit : k_iec) {
    const auto count = bytes.value >> unit.two;
    if (count != 0 && count << unit.two == bytes.value) return std::to_string(count) + std::string(unit.name);
  }
  return "0B";
}

std::string format_exact(Seconds seconds) {
  if (seconds.value == 0) return "0s";
  return exactly_in(seconds.value, k_second_units);
}

std::string format_exact(BytesPerSecond bandwidth) {
  if (bandwidth.value == 0) return "0B/s";
  return exactly_in(bandwidth.value, k_bandwidth_units);
}

std::string format_exact_frequency(double hertz) {
  if (hertz == 0) return "0Hz";
  return exactly_in(hertz, k_frequency_units);
}

}  // namespace terrace
