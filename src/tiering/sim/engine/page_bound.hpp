// SPDX-License-Identifier: Apache-2.0
// Computes a lower bound of the traffic between memory and backing file, from the accessed pages alone. It holds
// for every replacement schedule. VirtualSpill reports it beside the simulated traffic.
//
// Between two accesses a page either stays in memory, or it must be read for the second one. At any moment
// at most as many pages stay as memory holds. So the maximum number of such intervals that can stay determines how
// many reads are needed: intervals are taken by their ends, and each that still fits stays (Belady's rule seen
// backwards: Jain and Lin, "Back to the future", ISCA 2016, section 3). In the same way a page either stays
// between two stores, or it leaves in between and is written. The capacity is checked at sampled moments only,
// which weakens the bound but keeps it valid.
//
// The owner cuts the run into segments (iterations), each with a bound of its own. The content of memory at the
// begin of a segment is arbitrary, and every page stored in it that does not stay until its end has been written
// by then.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::sim {

class PageBound {
 public:
  // Traffic since the beginning.
  struct Traffic {
    Bytes read{};
    Bytes written{};
  };

  // Reports an access to a page, whether it is resident or not. `capacity`: pages that memory holds at present.
  void touch(std::uint32_t page, std::uint64_t capacity);
  // Reports that a line of the page was stored to. `late`: the store happened before the page was last evicted, in
  // this segment; whether the page stayed until then is not checked.
  void store(std::uint32_t page, bool late = false);
  // Returns the number of the current segment.
  [[nodiscard]] std::uint32_t segment() const { return segments_; }
  // Reports that these pages have no content any more.
  void forget(std::uint32_t first, std::uint32_t count);
  // Ends the segment here. Returns the bound so far.
  Traffic end_segment();

 private:
  static constexpr std::uint64_t k_moments = 64;            // sampled per as many accesses as memory holds pages
  static constexpr std::uint32_t k_max_moments = 1U << 13;  // of a segment
  // Residency of one kind of interval: how many pages stay at each sampled moment of the segment.
  struct Residency {
    std::vector<std::uint32_t> at;
    std::vector<std::uint32_t> last;  // by page: number of moments before its last access, or store, over the run
  };
  [[nodiscard]] bool try_keep(Residency& kind, std::uint32_t from);
  void add_moment(std::uint64_t capacity);
  void grow(std::uint32_t page);

  std::uint32_t segments_ = 0;
  std::uint32_t begun_ = 0;              // moments before the segment
  std::vector<std::uint64_t> capacity_;  // at each moment of the segment
  std::uint64_t since_ = 0;              // accesses since the last moment
  Residency touches_, stores_;
  std::vector<bool> has_content_;
  std::vector<bool> is_stored_;        // in the segment
  std::vector<std::uint32_t> stored_;  // those pages
  Traffic least_;
};

}  // namespace terrace::sim
