// What any schedule must move between a memory and a file, from the pages that the program touches alone.
//
// From one touch of a page to the next the page either stays in memory, or it has to be read for the next one. At
// any moment no more of them stay than memory holds. So the most that can stay, of all such intervals, says how
// many have to be read: intervals are taken by their ends, and each that still fits stays (Belady's rule seen
// backwards: Jain, Lin, "Back to the future", ISCA 2016, section 3). In the same way a page either stays from one
// store to the next, or leaves in between and is written. What fits is asked for at some moments alone, which
// proves less, never more.
//
// The owner's marks (iterations) cut the run into stretches, each with a bound of its own: what is in memory when
// one begins can be anything, and of what is stored in it all that does not stay until it ends has been written by
// then.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::sim {

class PageBound {
 public:
  // Bytes, since the beginning.
  struct Least {
    Bytes read{};
    Bytes written{};
  };

  // The program touches a page; it may be in memory or not. `capacity`: pages that memory holds, now.
  void touch(std::uint32_t page, std::uint64_t capacity);
  // A line of the page has been stored to. `late`: before the page left memory, in this stretch; where it stayed
  // until then is not asked.
  void store(std::uint32_t page, bool late = false);
  // Of the stretch.
  [[nodiscard]] std::uint32_t number() const { return cuts_; }
  // These have no content any more.
  void forget(std::uint32_t first, std::uint32_t count);
  // Ends the stretch here.
  Least cut();

 private:
  static constexpr std::uint64_t k_moments = 64;        // while as much is touched as memory holds
  static constexpr std::uint32_t k_longest = 1U << 13;  // stretch, in moments
  // Of one kind of interval: how many stay at each moment of the stretch.
  struct Stay {
    std::vector<std::uint32_t> at;
    std::vector<std::uint32_t>
        last;  // by page: the moments before its last touch, or store, from the run's first on
  };
  [[nodiscard]] bool stays(Stay& kind, std::uint32_t from);
  void moment(std::uint64_t capacity);
  void grow(std::uint32_t page);

  std::uint32_t cuts_ = 0;
  std::uint32_t begun_ = 0;              // moments before the stretch
  std::vector<std::uint64_t> capacity_;  // at each moment of the stretch
  std::uint64_t since_ = 0;              // touches since the last moment
  Stay touches_, stores_;
  std::vector<bool> has_content_;
  std::vector<bool> is_stored_;        // in the stretch
  std::vector<std::uint32_t> stored_;  // those pages
  Least least_;
};

}  // namespace terrace::sim
