// SPDX-License-Identifier: Apache-2.0
// Converts between the location of a bit in PIM devices and its linear number, and checks geometries. Called by
// the allocator, the array model and the Python module.
#include "pim/geometry.hpp"

#include <string>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

void need_less(std::uint32_t value, std::uint32_t end, const char* what) {
  if (value >= end)
    throw Error(Code::invalid, std::string(what) + " " + std::to_string(value) + " does not exist: there are " +
                                   std::to_string(end) + ", counted from 0; pass a smaller number");
}

}  // namespace

void check(const Geometry& geometry) {
  if (const auto problem = machine::find_problem(geometry))
    throw Error(Code::invalid, problem->key + ": " + problem->text);
}

std::uint64_t linear_bit(const Geometry& geometry, const Address& address) {
  need_less(address.device, geometry.devices, "device");
  need_less(address.bank, geometry.banks, "bank");
  need_less(address.subarray, geometry.subarrays, "subarray");
  need_less(address.row, geometry.rows, "row");
  need_less(address.column, geometry.columns, "column");
  std::uint64_t at = address.device;
  at = at * geometry.banks + address.bank;
  at = at * geometry.subarrays + address.subarray;
  at = at * geometry.rows + address.row;
  return at * geometry.columns + address.column;
}

Address address_of(const Geometry& geometry, std::uint64_t bit) {
  Address address;
  const auto part = [&bit](std::uint32_t count) {
    const auto value = static_cast<std::uint32_t>(bit % count);
    bit /= count;
    return value;
  };
  const auto asked = bit;
  address.column = part(geometry.columns);
  address.row = part(geometry.rows);
  address.subarray = part(geometry.subarrays);
  address.bank = part(geometry.banks);
  address.device = part(geometry.devices);
  if (bit != 0)
    throw Error(Code::invalid, "bit " + std::to_string(asked) + " is outside of " + describe(geometry) +
                                   "; pass a smaller number");
  return address;
}

}  // namespace terrace::pim
