// SPDX-License-Identifier: Apache-2.0
// Checks and formats the geometry of a processing-in-memory array, for machine files and the allocator of module
// pim. See array_geometry.hpp.
#include "machine/array_geometry.hpp"

#include <array>
#include <bit>
#include <utility>

namespace terrace::machine {
namespace {

constexpr std::uint64_t k_max_width = 1 << 16;  // limit of the allocator of module pim
constexpr std::uint64_t k_max_rows = std::uint64_t{1} << 32;

std::string format_count(std::uint32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::optional<GeometryProblem> find_problem(const ArrayGeometry& geometry) {
  const std::array dimensions{std::pair{"devices", geometry.devices}, std::pair{"banks", geometry.banks},
                              std::pair{"subarrays", geometry.subarrays}, std::pair{"rows", geometry.rows},
                              std::pair{"columns", geometry.columns}};
  for (const auto& [key, value] : dimensions)
    if (value == 0) return GeometryProblem{key, "there are 0; there must be at least 1"};
  if (geometry.columns % 8 != 0)
    return GeometryProblem{"columns",
                           std::to_string(geometry.columns) + " are no whole bytes; give a multiple of 8"};
  const auto width = std::uint64_t{geometry.banks} * geometry.subarrays;
  if (width > k_max_width)
    return GeometryProblem{"subarrays", format_count(geometry.banks, "bank") + " of " +
                                            std::to_string(geometry.subarrays) + " are more than the " +
                                            std::to_string(k_max_width) + " that a device can have"};
  // The handle of a block holds the row number, followed by the bits of the subarray number.
  if (std::uint64_t{geometry.rows} * geometry.devices > k_max_rows / std::bit_ceil(width))
    return GeometryProblem{"rows", describe(geometry) + " have more than " + std::to_string(k_max_rows) +
                                       " rows in all subarrays together"};
  return std::nullopt;
}

std::string describe(const ArrayGeometry& geometry) {
  return format_count(geometry.devices, "device") + " x " + format_count(geometry.banks, "bank") + " x " +
         format_count(geometry.subarrays, "subarray") + " x " + format_count(geometry.rows, "row") + " x " +
         format_count(geometry.columns, "column");
}

}  // namespace terrace::machine
