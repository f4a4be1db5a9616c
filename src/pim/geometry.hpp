// SPDX-License-Identifier: Apache-2.0
// Devices that compute inside their memory, as geometry: bits in rows and columns, rows in subarrays, subarrays in
// banks. The unit of allocation is a row of one subarray: a memory's chip selects whole rows, and an operation
// works on all of a row's bits (MCHPC'17, "Bit contiguous memory allocation for processing in memory", section 4).
#pragma once

#include <cstdint>

#include "machine/array_geometry.hpp"

namespace terrace::pim {

using Geometry = machine::ArrayGeometry;
using machine::describe;

// Throws Error{invalid} naming the dimension that cannot be.
void check(const Geometry& geometry);

// Where a bit is.
struct Address {
  std::uint32_t device = 0;
  std::uint32_t bank = 0;
  std::uint32_t subarray = 0;  // of the bank
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  bool operator==(const Address&) const = default;
};

// Bits counted through: columns fastest, then rows, subarrays, banks, devices. Throws Error{invalid} for what is
// outside.
std::uint64_t linear_bit(const Geometry& geometry, const Address& address);
Address address_of(const Geometry& geometry, std::uint64_t bit);

}  // namespace terrace::pim
