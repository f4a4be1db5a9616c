// SPDX-License-Identifier: Apache-2.0
// Formats sizes ("512KiB") for messages, journals and reports of all modules. It uses integer arithmetic only, as
// it runs inside users' processes, and formatting of floating point would bring in libm.
#include <array>
#include <utility>

#include "core/units.hpp"
#include "core/units_tables.hpp"

namespace terrace {
namespace {

constexpr std::array k_iec{Unit{"PiB", 0, 50}, Unit{"TiB", 0, 40}, Unit{"GiB", 0, 30},
                           Unit{"MiB", 0, 20}, Unit{"KiB", 0, 10}, Unit{"B", 0, 0}};

struct DecimalUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr std::array k_si{DecimalUnit{"PB", 1'000'000'000'000'000}, DecimalUnit{"TB", 1'000'000'000'000},
                          DecimalUnit{"GB", 1'000'000'000}, DecimalUnit{"MB", 1'000'000}, DecimalUnit{"kB", 1000}};

// Formats value / 2^two to three significant digits, for quotients from 1 to 1024: "1.46", "12", "1024".
std::string three_digits(std::uint64_t value, int two) {
  const auto whole = value >> two;
  const std::uint64_t scale = whole < 10 ? 100 : whole < 100 ? 10 : 1;
  const auto unit = std::uint64_t{1} << two;
  const auto scaled = whole * scale + (value % unit * scale + unit / 2) / unit;
  auto text = std::to_string(scaled / scale);
  for (auto place = scale / 10, rest = scaled % scale; rest > 0; rest %= place, place /= 10) {
    if (place == scale / 10) text += '.';
    text += static_cast<char>('0' + rest / place);
    if (place == 1) break;
  }
  return text;
}

}  // namespace

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
    return three_digits(bytes.value, unit.two) + std::string(unit.name);
  }
  return "0B";
}

// Uses the unit, binary or decimal, that leaves the fewest digits: what a user would have written.
std::string format_exact(Bytes bytes) {
  std::string shortest = std::to_string(bytes.value);
  std::string_view name = "B";
  const auto offer = [&](std::uint64_t unit, std::string_view unit_name) {
    if (bytes.value == 0 || bytes.value % unit != 0) return;
    auto count = std::to_string(bytes.value / unit);
    if (count.size() >= shortest.size()) return;
    shortest = std::move(count);
    name = unit_name;
  };
  for (const auto& unit : k_iec) offer(std::uint64_t{1} << unit.two, unit.name);
  for (const auto& unit : k_si) offer(unit.bytes, unit.name);
  return shortest.append(name);
}

}  // namespace terrace
