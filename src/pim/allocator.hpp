// SPDX-License-Identifier: Apache-2.0
// Gives out rectangles of a device's memory, from any number of threads. Exact: a request fails only when no
// rectangle of its shape is free where it may be.
//
// Every bank has a lock of its own. A thread begins its search at a bank that it has to itself (the first, until
// it meets another thread there) and goes on from bank to bank; only what no single bank holds, and what fails,
// takes the locks of all. What fails was looked for under all of them: so there is a moment at which there was no
// room.
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

// Names a block as long as it lives: one that was released, or is another allocator's, is recognised. 0 is none.
struct Handle {
  std::uint64_t value = 0;
  bool operator==(const Handle&) const = default;
  explicit operator bool() const { return value != 0; }
};

struct Request {
  Shape shape;
  Dim dim = Dim::horizontal;  // along which a best fit is tight
  Fit fit = Fit::first;
  Within within = Within::device;
  std::uint32_t row_alignment = 1;  // its first row is a multiple of it
  std::uint32_t subarray_alignment = 1;
  // With the same first subarray as that block (`share` is subarray), in its bank or on its device. What that
  // leaves no room for fails.
  Handle beside{};
  Within share = Within::subarray;
};

// Throws Error{invalid} for a shape that no empty device could hold, and for an alignment of 0.
void check(const Geometry& geometry, const Request& request);
// The same for a block of a group, which has no best fit either, and no block beside which it is.
void check_member(const Geometry& geometry, const Request& request);

enum class Released : std::uint8_t { done, already, foreign };

inline constexpr std::size_t k_max_group = 8;

class Allocator {
 public:
  // Throws Error{invalid} as check() does. `tag`, above 0, tells handles of allocators apart.
  explicit Allocator(const Geometry& geometry, std::uint8_t tag = 1);

  // No handle where no such rectangle is free. Throws Error{invalid} as check() does, and where `beside` is no
  // block.
  Handle allocate(const Request& request);
  // All of them or none (an empty result). Blocks that share a subarray begin at the same one, as operands of one
  // operation must; exact for those. For blocks that share a bank or a device at most 100,000 partial placements
  // are tried in each. Throws Error{invalid} as check_member() does, and for more than k_max_group requests.
  std::vector<Handle> allocate_group(std::span<const Request> requests, Within share);
  Released release(Handle handle);
  // Of a live block; nothing for any other handle.
  [[nodiscard]] std::optional<Block> block(Handle handle) const;
  // Where the handle's block begins, or began before it was released; nothing for what is no handle of this
  // allocator.
  [[nodiscard]] std::optional<Address> begin_of(Handle handle) const;

  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] std::uint64_t free_units() const;
  // All boards, one for each device, as they are at one moment.
  [[nodiscard]] std::vector<FreeBitmap> snapshot() const;

 private:
  static constexpr Shape k_unlimited{~0U, ~0U};
  struct alignas(k_cache_line_pair) Bank {
    mutable std::mutex lock;
    std::uint64_t free = 0;  // units
    std::uint32_t row = 0;   // below it nothing is free
    std::uint32_t device = 0;
    FreeBitmap::Range range;      // on its device's board
    std::uint64_t released = 0;   // blocks, so far
    Shape refused = k_unlimited;  // found no room since the last of them
  };
  // What found no room on a device, across its banks, when so many blocks had been released there.
  struct Refused {
    Shape shape = k_unlimited;
    std::uint64_t released = 0;
  };
  // What stands at the unit where a block begins, or began.
  struct Record {
    std::uint32_t generation =
        0;  // counts up with each block that begins here, and with its end: odd while it lives
    Shape shape;
  };
  struct Place {
    std::uint32_t device = 0;
    FreeBitmap::Spot spot;
  };
  struct Banks {  // neighbours, counted through all devices
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  class Locked;

  [[nodiscard]] Banks all() const { return {0, geometry_.devices * geometry_.banks}; }
  [[nodiscard]] Banks banks_of(const Place& place, const Shape& shape) const;
  [[nodiscard]] std::uint64_t index_of(const Place& place) const;
  [[nodiscard]] std::optional<Place> place_of(
      Handle handle) const;  // nothing for what is no handle of this allocator
  [[nodiscard]] std::uint32_t home(const Banks& among) const;
  std::uint32_t other_home(const Banks& among);

  Handle allocate_among(const Banks& banks, const Request& request);
  Handle allocate_beside(const Request& request);
  // Of these the caller has locked the banks.
  Handle first_in(std::uint32_t bank, const Request& request);
  Handle best_in(const Banks& banks, const Request& request);
  Handle across(std::uint32_t device, const Request& request);
  Handle place(std::uint32_t device, const FreeBitmap::Range& range, const Request& request);
  Handle take(const Place& place, const Shape& shape);
  // visit(bank, units) for each bank that the block is in.
  template <typename Visit>
  void each_bank(const Place& place, const Shape& shape, Visit visit);

  Geometry geometry_;
  std::uint8_t tag_;
  std::uint64_t birth_;              // tells apart allocators that were at the same address, one after the other
  std::vector<FreeBitmap> bitmaps_;  // of each device
  std::vector<Refused> refused_;     // of each device
  std::unique_ptr<Bank[]> banks_;
  std::uint32_t width_bits_;                  // of a subarray's number
  std::unique_ptr<std::uint16_t[]> bank_of_;  // of each subarray, on its device
  std::unique_ptr<Record[]> records_;         // of each unit: [device][row][subarray], at index_of()
  std::atomic<std::uint32_t> next_home_{0};
};

}  // namespace terrace::pim
