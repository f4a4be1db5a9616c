// SPDX-License-Identifier: Apache-2.0
// Defines the geometry of devices for processing in memory: bits in rows and columns, rows in subarrays, subarrays
// in banks. The unit of allocation is a row of one subarray, because a memory chip activates whole rows, and an
// operation works on all bits of a row (MCHPC'17, "Bit contiguous memory allocation for processing in memory",
// section 4). Used throughout src/pim.
#pragma once

#include <cstdint>

#include "machine/array_geometry.hpp"

namespace terrace::pim {

using Geometry = machine::ArrayGeometry;
using machine::describe;

// Throws Error{invalid}, which names the invalid dimension.
void check(const Geometry& geometry);

// The location of a bit.
struct Address {
  std::uint32_t device = 0;
  std::uint32_t bank = 0;
  std::uint32_t subarray = 0;  // index in the bank
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  bool operator==(const Address&) const = default;
};

// Convert between a location and a linear bit number: columns vary fastest, then rows, subarrays, banks,
// devices. Throw Error{invalid} for what is outside.
std::uint64_t linear_bit(const Geometry& geometry, const Address& address);
Address address_of(const Geometry& geometry, std::uint64_t bit);

}  // namespace terrace::pim
