// SPDX-License-Identifier: Apache-2.0
// Interface through which ordered placement queries and controls the memory of places. NumaPlaces implements it
// for the running kernel; tests use a model. Implementations must not throw or allocate.
#pragma once

#include <cstdint>
#include <span>

#include "core/identifiers.hpp"

namespace terrace::memory {

class PlaceSystem {
 public:
  virtual ~PlaceSystem() = default;
  // Return bytes. A place without memory in this system has a capacity of 0.
  [[nodiscard]] virtual std::uint64_t capacity(PlaceId place) const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t kernel_reserve(PlaceId place) const noexcept = 0;  // kept by the kernel
  [[nodiscard]] virtual std::uint64_t free_bytes(PlaceId place) noexcept = 0;            // now

  // The following return 0 or an errno value.
  // Sets the policy of the range: new pages come from the place, or from another one if that is exhausted.
  virtual int prefer_place(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept = 0;
  // Removes the preference for a place.
  virtual void reset_policy(std::uint64_t /*address*/, std::uint64_t /*size*/) noexcept {}
  // Populates all pages of the range.
  virtual int populate(std::uint64_t address, std::uint64_t size) noexcept = 0;
  // Migrates the populated pages of the range to the place, as far as the system can move them.
  virtual int migrate_to(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept = 0;
  // Fills in the place of each page from the address on; k_no_place for absent pages.
  virtual int query_places(std::uint64_t address, std::span<PlaceId> places) noexcept = 0;

  virtual void wait_briefly() noexcept = 0;  // while other processes populate what they have reserved
};

}  // namespace terrace::memory
