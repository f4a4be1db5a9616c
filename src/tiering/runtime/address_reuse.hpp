// SPDX-License-Identifier: Apache-2.0
// Maps a reallocated object to the canonical address of a freed object of the same name and about the same size.
// Used by Program when it adds and removes objects.
//
// Canonical addresses (observe/objects/address_map.hpp) are never reused, so the cache misses of an iteration that
// frees and reallocates its buffers would look different each time. With the mapping, iterations compare equal.
// Freed addresses are reused last in, first out, separately for each name. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"

namespace terrace::runtime {

class AddressReuse {
 public:
  // Returns the address that represents the new object: that of the freed object which it replaces, else its own
  // (`canonical`). Sizes that differ by a factor of up to two match.
  std::uint64_t on_alloc(std::string_view name, std::uint64_t canonical, Bytes size);
  // Makes the address of a freed object available. `representative`: what on_alloc() returned for it.
  void on_free(std::string_view name, std::uint64_t representative, Bytes size);

 private:
  struct FreedObject {
    std::uint64_t representative = 0;
    Bytes size;
  };
  static constexpr std::size_t k_max_freed = 1024;  // for each name; the oldest is dropped

  std::unordered_map<std::string, std::vector<FreedObject>> freed_;
};

}  // namespace terrace::runtime
