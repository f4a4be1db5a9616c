// SPDX-License-Identifier: Apache-2.0
// Allocates rectangles (rows of neighbouring subarrays) of a processing-in-memory device. Programs reach it
// through bmem.h and Lease, `terrace lab pim` by replaying traces. Thread-safe. Exact: a request fails only if no
// rectangle of its shape is free where it may be.
//
// Every bank has a lock of its own. A thread begins its search at its home bank (bank 0, until it contends with
// another thread there) and proceeds from bank to bank. Requests that no single bank can satisfy, and failing
// ones, take the locks of all banks. So for every failure there is a moment at which no rectangle was free.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "pim/block.hpp"
#include "pim/free_bitmap.hpp"

namespace terrace::pim {

// Identifies a live block; handles of released blocks and of other allocators are detected. 0 is none.
struct Handle {
  std::uint64_t value = 0;
  bool operator==(const Handle&) const = default;
  explicit operator bool() const { return value != 0; }
};

struct Request {
  Shape shape;
  Dim dim = Dim::horizontal;  // dimension that a best fit fits tightly
  Fit fit = Fit::first;
  Within within = Within::device;
  std::uint32_t row_alignment = 1;  // alignment of its first row
  std::uint32_t subarray_alignment = 1;
  // The new block shares the first subarray (`share` is subarray), the bank or the device of this block. Fails
  // if there is no space there.
  Handle beside{};
  Within share = Within::subarray;
};

// Throws Error{invalid} for a shape that no empty device could hold, and for an alignment of 0.
void check(const Geometry& geometry, const Request& request);
// Checks a request of a group, which also allows neither best fit nor `beside`.
void check_member(const Geometry& geometry, const Request& request);

enum class Released : std::uint8_t { done, already, foreign };

inline constexpr std::size_t k_max_group = 8;

class Allocator {
 public:
  // Throws Error{invalid} as check() does. `tag` > 0 distinguishes the handles of allocators.
  explicit Allocator(const Geometry& geometry, std::uint8_t tag = 1);

  // Allocates a rectangle; returns no handle if none is free. Throws Error{invalid} as check() does, and if
  // `beside` is no live block.
  Handle allocate(const Request& request);
  // Allocates all requests or none (an empty result). Blocks that share a subarray begin at the same one, as
  // the operands of one operation must; this search is exact. For blocks that share a bank or a device at most
  // 100,000 partial placements are tried in each. Throws Error{invalid} as check_member() does, and for more
  // than k_max_group requests.
  std::vector<Handle> allocate_group(std::span<const Request> requests, Within share);
  Released release(Handle handle);
  // Returns the block of a live handle; nothing for any other.
  [[nodiscard]] std::optional<Block> block(Handle handle) const;
  // Returns where the handle's block begins, or began before its release; nothing for foreign handles.
  [[nodiscard]] std::optional<Address> begin_of(Handle handle) const;

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] std::uint64_t free_units() const;
  // Returns the bitmaps of all devices as of one moment.
  [[nodiscard]] std::vector<FreeBitmap> snapshot() const;

 private:
  static constexpr Shape k_unlimited{~0U, ~0U};
  struct alignas(k_cache_line_pair) Bank {
    mutable std::mutex lock;
    std::uint64_t free = 0;  // units
    std::uint32_t row = 0;   // no row below it is free
    std::uint32_t device = 0;
    FreeBitmap::Range range;      // its subarrays in the device's bitmap
    std::uint64_t released = 0;   // blocks released so far
    Shape refused = k_unlimited;  // smallest shape that failed since the last release
  };
  // Caches a shape that failed across a device's banks, and how many blocks had been released there by then.
  struct Refused {
    Shape shape = k_unlimited;
    std::uint64_t released = 0;
  };
  // Metadata of the unit where a block begins, or began.
  struct Record {
    std::uint32_t generation = 0;  // incremented at allocation and release: odd while the block lives
    Shape shape;
  };
  struct Place {
    std::uint32_t device = 0;
    FreeBitmap::Spot spot;
  };
  struct Banks {  // consecutive banks, numbered through all devices
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  class Locked;

  [[nodiscard]] Banks all() const { return {0, geometry_.devices * geometry_.banks}; }
  [[nodiscard]] Banks banks_of(const Place& place, const Shape& shape) const;
  [[nodiscard]] std::uint64_t index_of(const Place& place) const;
  [[nodiscard]] std::optional<Place> place_of(Handle handle) const;  // nothing for foreign handles
  [[nodiscard]] std::uint32_t home(const Banks& among) const;
  std::uint32_t other_home(const Banks& among);

  Handle allocate_among(const Banks& banks, const Request& request);
  Handle allocate_beside(const Request& request);
  // These require the locks of the banks.
  Handle first_in(std::uint32_t bank, const Request& request);
  Handle best_in(const Banks& banks, const Request& request);
  Handle across(std::uint32_t device, const Request& request);
  Handle place(std::uint32_t device, const FreeBitmap::Range& range, const Request& request);
  Handle take(const Place& place, const Shape& shape);
  // Calls visit(bank, units) for each bank that the block overlaps.
  template <typename Visit>
  void each_bank(const Place& place, const Shape& shape, Visit visit);

  Geometry geometry_;
  std::uint8_t tag_;
  std::uint64_t birth_;              // distinguishes allocators that were at the same address one after the other
  std::vector<FreeBitmap> bitmaps_;  // of each device
  std::vector<Refused> refused_;     // of each device
  std::unique_ptr<Bank[]> banks_;
  std::uint32_t width_bits_;                  // bits of a subarray's number
  std::unique_ptr<std::uint16_t[]> bank_of_;  // by subarray: its bank on its device
  std::unique_ptr<Record[]> records_;         // by unit: [device][row][subarray], at index_of()
  std::atomic<std::uint32_t> next_home_{0};
};

}  // namespace terrace::pim
