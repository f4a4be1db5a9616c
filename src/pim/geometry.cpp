#include "pim/geometry.hpp"

#include <array>
#include <bit>
#include <utility>

#include "base/error.hpp"

namespace terrace::pim {
namespace {

constexpr std::uint64_t k_most_units = std::uint64_t{1} << 32;
constexpr std::uint64_t k_most_width = 1 << 16;

std::string counted(std::uint32_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void need_less(std::uint32_t value, std::uint32_t end, const char* what) {
  if (value >= end)
    throw Error(Code::invalid, std::string(what) + " " + std::to_string(value) + " lies outside: there are " +
                                   std::to_string(end) + ", counted from 0");
}

}  // namespace

void check(const Geometry& geometry) {
  const std::array dimensions{std::pair{"rows", geometry.rows}, std::pair{"columns", geometry.columns},
                              std::pair{"subarrays", geometry.subarrays}, std::pair{"banks", geometry.banks},
                              std::pair{"devices", geometry.devices}};
  for (const auto& [name, value] : dimensions)
    if (value == 0) throw Error(Code::invalid, std::string(name) + ": 0; a device has at least one of each");
  if (geometry.columns % 8 != 0)
    throw Error(Code::invalid, "columns: " + std::to_string(geometry.columns) + " are no whole bytes");
  const auto width = std::uint64_t{geometry.banks} * geometry.subarrays;
  if (width > k_most_width)
    throw Error(Code::invalid,
                "banks x subarrays: " + std::to_string(width) + " are more than " + std::to_string(k_most_width));
  // What a handle has room for: a row's number with the bits for that of a subarray behind it.
  if (std::uint64_t{geometry.rows} * geometry.devices > k_most_units / std::bit_ceil(width))
    throw Error(Code::invalid, describe(geometry) + " have more than 2^32 rows in all");
}

std::string describe(const Geometry& geometry) {
  return counted(geometry.devices, "device") + " x " + counted(geometry.banks, "bank") + " x " +
         counted(geometry.subarrays, "subarray") + " x " + counted(geometry.rows, "row") + " x " +
         counted(geometry.columns, "column");
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
    throw Error(Code::invalid, "bit " + std::to_string(asked) + " lies outside of " + describe(geometry));
  return address;
}

}  // namespace terrace::pim
