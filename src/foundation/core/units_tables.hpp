// SPDX-License-Identifier: Apache-2.0
// Lists the units that the parsers and formatters of units.hpp know.
#pragma once

#include <array>
#include <string_view>

namespace terrace {

struct Unit {
  std::string_view name;
  int ten;  // power of ten
  int two;  // power of two
};

inline constexpr std::array k_byte_units{
    Unit{"", 0, 0},     Unit{"B", 0, 0},    Unit{"KiB", 0, 10}, Unit{"MiB", 0, 20}, Unit{"GiB", 0, 30},
    Unit{"TiB", 0, 40}, Unit{"PiB", 0, 50}, Unit{"kB", 3, 0},   Unit{"KB", 3, 0},   Unit{"MB", 6, 0},
    Unit{"GB", 9, 0},   Unit{"TB", 12, 0},  Unit{"PB", 15, 0},  Unit{"K", 0, 10},   Unit{"M", 0, 20},
    Unit{"G", 0, 30},   Unit{"T", 0, 40},   Unit{"P", 0, 50}};
inline constexpr std::array k_second_units{Unit{"ps", -12, 0}, Unit{"ns", -9, 0}, Unit{"us", -6, 0},
                                           Unit{"ms", -3, 0}, Unit{"s", 0, 0}};
inline constexpr std::array k_bandwidth_units{
    Unit{"B/s", 0, 0},  Unit{"KiB/s", 0, 10}, Unit{"MiB/s", 0, 20}, Unit{"GiB/s", 0, 30}, Unit{"TiB/s", 0, 40},
    Unit{"kB/s", 3, 0}, Unit{"KB/s", 3, 0},   Unit{"MB/s", 6, 0},   Unit{"GB/s", 9, 0},   Unit{"TB/s", 12, 0}};

inline constexpr std::array k_frequency_units{Unit{"Hz", 0, 0}, Unit{"kHz", 3, 0}, Unit{"MHz", 6, 0},
                                              Unit{"GHz", 9, 0}};

}  // namespace terrace
