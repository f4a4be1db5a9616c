// How a memory that computes inside its arrays (processing in memory) is built: bits in rows and columns, rows in
// subarrays, subarrays in banks, banks in devices. The machine only states it; the room pim allocates by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units.hpp"

namespace terrace::machine {

// Of all devices together; they are all alike. Columns are bits.
struct ArrayGeometry {
  std::uint32_t rows = 0;       // of a subarray
  std::uint32_t columns = 0;    // of a subarray
  std::uint32_t subarrays = 0;  // of a bank
  std::uint32_t banks = 0;      // of a device
  std::uint32_t devices = 1;

  bool operator==(const ArrayGeometry&) const = default;
  [[nodiscard]] std::uint32_t width() const { return banks * subarrays; }  // subarrays of a device, side by side
  [[nodiscard]] std::uint64_t units() const { return std::uint64_t{devices} * width() * rows; }
  [[nodiscard]] Bytes row_bytes() const { return Bytes{columns / 8}; }
  [[nodiscard]] Bytes capacity() const { return units() * row_bytes(); }
};

// The key that is wrong, as machine files call it, and why.
struct GeometryProblem {
  std::string key;
  std::string text;
};

// Nothing for a geometry that can be: one of everything at least, whole bytes in a row, at most 2^16 subarrays in
// a device and 2^32 rows in all (as many as with the next power of two of subarrays).
std::optional<GeometryProblem> problem_of(const ArrayGeometry& geometry);
// "1 device x 8 banks x 16 subarrays x 1024 rows x 65536 columns"
std::string describe(const ArrayGeometry& geometry);

}  // namespace terrace::machine
