// Devices that compute inside their memory, as geometry: bits in rows and columns, rows in subarrays, subarrays in
// banks. The unit of allocation is a row of one subarray: a memory's chip selects whole rows, and an operation
// works on all of a row's bits (MCHPC'17, "Bit contiguous memory allocation for processing in memory", section 4).
#pragma once

#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace terrace::pim {

// Of all devices together; each has the same dimensions. Columns are bits.
struct Geometry {
  std::uint32_t rows = 0;       // of a subarray
  std::uint32_t columns = 0;    // of a subarray
  std::uint32_t subarrays = 0;  // of a bank
  std::uint32_t banks = 0;      // of a device
  std::uint32_t devices = 1;

  bool operator==(const Geometry&) const = default;
  [[nodiscard]] std::uint32_t width() const { return banks * subarrays; }  // subarrays of a device, side by side
  [[nodiscard]] std::uint64_t units() const { return std::uint64_t{devices} * width() * rows; }
  [[nodiscard]] Bytes row_bytes() const { return Bytes{columns / 8}; }
  [[nodiscard]] Bytes capacity() const { return units() * row_bytes(); }
};

// Throws Error{invalid} naming the dimension that is zero, or too large: columns come in whole bytes, there are at
// most 2^32 units and 2^16 subarrays in a device.
void check(const Geometry& geometry);
// "1 device x 8 banks x 16 subarrays x 1024 rows x 65536 columns"
std::string describe(const Geometry& geometry);

// Where a bit is.
struct Address {
  std::uint32_t device = 0;
  std::uint32_t bank = 0;
  std::uint32_t subarray = 0;  // of the bank
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  bool operator==(const Address&) const = default;
};

// Bits counted through: columns fastest, then rows, subarrays, banks, devices. Throws Error{invalid} for what lies
// outside.
std::uint64_t linear_bit(const Geometry& geometry, const Address& address);
Address address_of(const Geometry& geometry, std::uint64_t bit);

}  // namespace terrace::pim
