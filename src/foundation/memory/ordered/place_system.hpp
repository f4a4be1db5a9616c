// What ordered placement asks of the system about places, and has it do.
#pragma once

#include <cstdint>
#include <span>

#include "core/identifiers.hpp"

namespace terrace::memory {

class PlaceSystem {
 public:
  virtual ~PlaceSystem() = default;
  // Bytes. A place that the system has no memory for has a total of 0.
  [[nodiscard]] virtual std::uint64_t total(PlaceId place) const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t reserve(PlaceId place) const noexcept = 0;  // the system keeps it for itself
  [[nodiscard]] virtual std::uint64_t free(PlaceId place) noexcept = 0;           // now

  // Each of these returns 0 or an errno value. What is touched in the range from now on comes from the place, or,
  // where that is exhausted, from another one.
  virtual int prefer(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept = 0;
  // No place is preferred any more.
  virtual void forget(std::uint64_t /*address*/, std::uint64_t /*size*/) noexcept {}
  // All pages of the range are there afterwards.
  virtual int populate(std::uint64_t address, std::uint64_t size) noexcept = 0;
  // Pages of the range that are there reside on the place afterwards, as far as the system can move them.
  virtual int bring(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept = 0;
  // The place of each page from the address on; k_no_place for one that is not there.
  virtual int where(std::uint64_t address, std::span<PlaceId> places) noexcept = 0;

  virtual void pause() noexcept = 0;  // a moment, in which other processes populate what they have reserved
};

}  // namespace terrace::memory
