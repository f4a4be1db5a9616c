// SPDX-License-Identifier: Apache-2.0
// Implements ordered fill: a range of memory fills the places of an ordering one after another, each down to a
// free watermark. The agent's heap places data with memory attributes so (`--intent`, terrace_alloc()).
//
// The rule, batch by batch in the order of addresses. For each place, in the ordering's order:
//
//   available = free - watermark - outstanding
//
// where `free` is what the system reports, `watermark` the share of the place that is left free, and `outstanding`
// what all processes of the job have reserved in the ledger and not yet populated. If the batch and a slack are
// available, they are reserved, the range's policy is set, and the pages are populated. If not, and other
// processes have bytes outstanding, the batch waits for them: until they are done their pages count twice, as
// outstanding and as no longer free. If no other process has any, the batch takes what is available to the last
// page, and its rest goes to the next place. Within one call an exhausted place is not used again: the parts are
// contiguous.
//
// When all places are down to their watermarks, the one with the most memory above the kernel's own reserve is
// used. When none has any, the rest is left to the kernel's first touch: populating it would invoke the
// out-of-memory killer. What the job's budget does not allow is left to the kernel, too, with that place
// preferred.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"
#include "memory/ledger.hpp"

namespace terrace::memory {

// Queries and controls the memory of places for an ordered fill. NumaPlaces implements it for the running kernel;
// tests use a model. Implementations must not throw or allocate.
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

// Share of each place that is left free, as in the paper's kernel (system 9, section 4.2).
inline constexpr double k_free_watermark = 0.1;

class OrderedFill {
 public:
  struct Settings {
    double watermark = k_free_watermark;
    Bytes batch{std::uint64_t{2} << 20};         // a huge page
    Bytes large_batch{std::uint64_t{32} << 20};  // a batch far from the watermark: fewer calls
    Bytes slack{std::uint64_t{8} << 20};         // 2,048 pages: the kernel's counters may lag by as much
    Bytes min_part{std::uint64_t{64} << 10};     // least size of a part: counters are not exact to a page
    int max_pauses = 1000;  // waits for other processes; one that is stopped must not block all
  };

  // A part of the range, in whole pages, and where it was placed.
  struct PlacedPart {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    PlaceId place = k_no_place;  // k_no_place: left to the kernel
    std::uint64_t held = 0;      // bytes acquired in the ledger for it
  };
  class Observer {
   public:
    virtual ~Observer() = default;
    // Called when the policy of the part is set, before its pages are populated.
    virtual void on_placed(const PlacedPart& part) noexcept = 0;
    // Called next: from now on the pages of the range may be populated, by this call or by a touch.
    virtual void on_accessible(std::uint64_t /*address*/, std::uint64_t /*size*/) noexcept {}
  };
  enum class Content : std::uint8_t { none, some };  // some: the range may have pages, which are migrated

  // Borrows ledger and system, which must outlive it and have the same `places` places.
  OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places) : OrderedFill(ledger, system, places, {}) {}
  OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places, const Settings& settings);

  struct Outcome {
    int error = 0;             // an errno value: the system refused a part, or no memory was left for it (ENOMEM)
    bool needs_retry = false;  // migration freed memory in a place that was exhausted before: fill once more
    std::size_t num_exhausted = 0;  // leading places of the ordering that are exhausted
  };
  // Places the range of whole pages in contiguous parts that cover it, even if some are refused. Requires: what
  // the ledger held for the range has been released. `num_exhausted` leading places were exhausted when
  // neighbouring ranges were placed; they are used again only where a whole batch and the slack fit, not for
  // single freed pages. Thread-safe for ranges that do not overlap.
  Outcome fill(std::uint64_t address, std::uint64_t size, std::span<const PlaceId> order, Content content,
               Observer& observer, std::size_t num_exhausted = 0) noexcept;
  // Returns the first place of the ordering with `size` bytes available, else the one with the most.
  [[nodiscard]] PlaceId preferred(std::uint64_t size, std::span<const PlaceId> order) noexcept;

  // Returns whether the first place of the ordering has `size` bytes available.
  [[nodiscard]] bool has_room(std::uint64_t size, std::span<const PlaceId> order) const noexcept;

  [[nodiscard]] std::uint64_t watermark(PlaceId place) const noexcept { return watermarks_[place]; }

 private:
  struct FillState;

  [[nodiscard]] bool serves(PlaceId place) const noexcept {
    return place < watermarks_.size() && system_.capacity(place) > 0;
  }
  [[nodiscard]] std::uint64_t available(PlaceId place, std::uint64_t min_free) const noexcept;
  bool try_reserve(PlaceId place, std::uint64_t requested, std::uint64_t min_free) noexcept;
  std::uint64_t reserve(PlaceId place, std::uint64_t requested, std::uint64_t min_free) noexcept;
  void fill_batch(FillState& state) noexcept;
  bool fill_from(FillState& state, PlaceId place) noexcept;
  void fall_back(FillState& state) noexcept;
  bool place_part(FillState& state, PlaceId place, std::uint64_t size, std::uint64_t reserved) noexcept;
  void leave_to_kernel(FillState& state, PlaceId place, std::uint64_t size) noexcept;

  Ledger& ledger_;
  PlaceSystem& system_;
  Settings settings_;
  std::vector<std::uint64_t> watermarks_;  // bytes, by place
};

}  // namespace terrace::memory
