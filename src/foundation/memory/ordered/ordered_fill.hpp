// Ordered spill: a range of memory fills the places of an ordering one after another, each down to its mark.
//
// The rule, batch by batch in the order of addresses. Of each place, in the ordering's order:
//
//   available = free - mark - outstanding
//
// where `free` is what the system says, `mark` the share of the place that is left free, and `outstanding` what
// all processes of the job have reserved in the ledger and not yet populated. Where the batch and a slack are
// available, they are reserved, the range's policy is set, and the pages are populated. Where not, and others have
// something outstanding, the batch waits for them: until they are done their pages count twice, as outstanding and
// as no longer free. Where nobody has, the batch takes what is available to the last page, and its rest goes to
// the next place. Within one call a place that has been left is not taken again: the parts are contiguous.
//
// When all places are at their marks, the one with the most room above what the system keeps for itself serves.
// When none has room the rest is left to the kernel's own first touch: populating would call its out-of-memory
// killer. What the job's budget does not allow is left to the kernel, too, with that place preferred.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "memory/ledger.hpp"
#include "memory/ordered/place_system.hpp"

namespace terrace::memory {

inline constexpr double k_mark = 0.1;  // of each place; as the paper's kernel has it (system 9, section 4.2)

class OrderedFill {
 public:
  struct Settings {
    double mark = k_mark;
    Bytes batch{std::uint64_t{2} << 20};   // a huge page
    Bytes large{std::uint64_t{32} << 20};  // a batch far from the mark: fewer calls
    Bytes slack{std::uint64_t{8} << 20};   // 2,048 pages: what the kernel's counters may be behind
    Bytes least{std::uint64_t{64} << 10};  // a part; the kernel's counters are not exact to single pages
    int patience = 1000;                   // pauses for others; who is stopped does not hold up everyone
  };

  // What became of a part of the range, whole pages.
  struct Part {
    std::uint64_t address = 0;
    std::uint64_t size = 0;
    PlaceId place = k_no_place;  // k_no_place: left to the kernel
    std::uint64_t held = 0;      // bytes that the ledger has for it
  };
  class Progress {
   public:
    virtual ~Progress() = default;
    // The part's policy is set. Then open(): its pages may come from now on.
    virtual void placed(const Part& part) noexcept = 0;
    virtual void open(std::uint64_t /*address*/, std::uint64_t /*size*/) noexcept {}
  };
  enum class Content : std::uint8_t { none, some };  // some: pages that are there are moved

  // Ledger and system outlive it, and have the same `places` places.
  OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places) : OrderedFill(ledger, system, places, {}) {}
  OrderedFill(Ledger& ledger, PlaceSystem& system, std::size_t places, const Settings& settings);

  struct Outcome {
    int error = 0;       // an errno value: a part was refused by the system, or there was no room for it (ENOMEM)
    bool again = false;  // pages have made room in a place that the range's beginning could not have: once more
    std::size_t left = 0;  // so many of the ordering's first places have been left
  };
  // Places the range, whole pages, in parts that cover it, also where some are refused. What the ledger held for
  // the range before has to be given back before. `left`: so many places were left when neighbours were placed;
  // they serve again where there is room for whole batches and the slack, not for every page that somebody gives
  // back. Safe from several threads, for ranges that do not overlap.
  Outcome fill(std::uint64_t address, std::uint64_t size, std::span<const PlaceId> order, Content content,
               Progress& progress, std::size_t left = 0) noexcept;
  // The first place of the ordering with room for so much above its mark, else the one with the most.
  [[nodiscard]] PlaceId preferred(std::uint64_t size, std::span<const PlaceId> order) noexcept;

  // Whether the ordering's first place has room for so much above its mark.
  [[nodiscard]] bool has_room(std::uint64_t size, std::span<const PlaceId> order) const noexcept;

  [[nodiscard]] std::uint64_t mark(PlaceId place) const noexcept { return marks_[place]; }

 private:
  struct Work;

  [[nodiscard]] bool serves(PlaceId place) const noexcept {
    return place < marks_.size() && system_.total(place) > 0;
  }
  [[nodiscard]] std::uint64_t room(PlaceId place, std::uint64_t keep) const noexcept;
  bool take_at_once(PlaceId place, std::uint64_t wanted, std::uint64_t keep) noexcept;
  std::uint64_t reserve(PlaceId place, std::uint64_t wanted, std::uint64_t keep) noexcept;
  void take_batch(Work& work) noexcept;
  bool take_from(Work& work, PlaceId place) noexcept;
  void take_last_resort(Work& work) noexcept;
  bool settle(Work& work, PlaceId place, std::uint64_t size, std::uint64_t reserved) noexcept;
  void leave(Work& work, PlaceId place, std::uint64_t size) noexcept;

  Ledger& ledger_;
  PlaceSystem& system_;
  Settings settings_;
  std::vector<std::uint64_t> marks_;  // bytes, by place
};

}  // namespace terrace::memory
