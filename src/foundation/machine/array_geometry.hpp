// SPDX-License-Identifier: Apache-2.0
// Describes the geometry of a memory that computes inside its arrays (processing in memory, PIM): bits in rows and
// columns, rows in subarrays, subarrays in banks, banks in devices. The machine only states it; module pim
// allocates by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units.hpp"

namespace terrace::machine {

// Describes all devices together, which are identical. Columns are bits.
struct ArrayGeometry {
  std::uint32_t rows = 0;       // of a subarray
  std::uint32_t columns = 0;    // of a subarray
  std::uint32_t subarrays = 0;  // of a bank
  std::uint32_t banks = 0;      // of a device
  std::uint32_t devices = 1;

  bool operator==(const ArrayGeometry&) const = default;
  [[nodiscard]] std::uint32_t width() const { return banks * subarrays; }  // subarrays of a device
  [[nodiscard]] std::uint64_t units() const { return std::uint64_t{devices} * width() * rows; }
  [[nodiscard]] Bytes row_bytes() const { return Bytes{columns / 8}; }
  [[nodiscard]] Bytes capacity() const { return units() * row_bytes(); }
};

// Names the invalid key, as in machine files, and says what is wrong.
struct GeometryProblem {
  std::string key;
  std::string text;
};

// Returns the first problem of a geometry, or nothing if it is valid. Requires at least one of each part, whole
// bytes in a row, and at most 2^16 subarrays in a device. There must be at most 2^32 rows in all, counted with the
// subarrays rounded up to a power of two.
std::optional<GeometryProblem> find_problem(const ArrayGeometry& geometry);
// Returns "1 device x 8 banks x 16 subarrays x 1024 rows x 65536 columns".
std::string describe(const ArrayGeometry& geometry);

}  // namespace terrace::machine
