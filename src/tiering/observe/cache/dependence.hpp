// SPDX-License-Identifier: Apache-2.0
// Detects misses that had to wait for the data of another miss: pointer and index chases. Each thread's pipeline
// has a tracker.
//
// The tracker keeps the values that were recently loaded from lines fetched by demand misses (not by streams);
// such a line is "followed". A later miss is dependent when its address less such a value is in [0, 4096) (a
// pointer to a structure), or when it is base + scale x value with the base and scale (4, 8, 16) that the
// instruction has shown before (an index). Values are read just before the load: the hook runs before it. Control
// dependence is not seen.
//
// A chain continues through lines that a cache or a stream happens to serve: shortly after a demand miss, the
// value of such a load is kept, too, if its address depends on a kept value. It arrives when that value did. Hits
// of a cache or a stream start no chain.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "observe/cache/exposure.hpp"

namespace terrace::observe {

class DependenceTracker {
 public:
  // Follows a line that a demand miss fetched; its data arrive at `level` (see exposure.hpp).
  void follow(std::uint64_t line, Level level);
  // Handles a load that was served without a demand miss. Returns the level of the value on which its address
  // depends, or k_no_level; a dependent load's line is followed.
  Level on_hit(std::uint64_t line, std::uint64_t host, std::uint64_t canonical, std::uint64_t site) {
    if (hits_ >= k_max_hits) return k_no_level;
    ++hits_;
    return propagate(line, host, canonical, site);
  }
  // Returns the level at which a followed line's data arrive, or k_no_level.
  [[nodiscard]] Level followed_level(std::uint64_t line) const;
  // Keeps a value that was loaded from a line whose data arrive at `level`.
  void on_load(std::uint64_t value, Level level);
  // Handles a miss of the instruction at `site`. Returns the level of the value on which the address depends, or
  // k_no_level.
  Level on_miss(std::uint64_t host, std::uint64_t canonical, std::uint64_t site);

 private:
  static constexpr std::uint64_t k_max_pointer_offset = 4096;
  static constexpr std::uint32_t k_lines = 16;
  static constexpr std::uint32_t k_values = 32;
  static constexpr std::uint32_t k_sites = 256;
  static constexpr std::uint32_t k_compared = 16;      // values compared to find a site's base and scale
  static constexpr std::uint32_t k_max_attempts = 64;  // failed attempts after which a site is tried rarely
  static constexpr std::uint32_t k_max_hits = 32;      // hits after a demand miss that are examined
  // A site's base and scale are used while they match more often than not: numbers that are no indices may match
  // by chance (random updates of a table that contains its own indices).
  static constexpr std::int32_t k_min_trust = 4;
  static constexpr std::uint32_t k_max_misfits = 32;  // successive mismatches until base and scale are dropped

  struct Line {
    std::uint64_t line = ~std::uint64_t{0};
    Level level = 0;
  };
  // An instruction whose misses may be affine in loaded values. Addresses are canonical, and the table index uses
  // only the site's bits within a page, so that address randomisation has no effect.
  struct Site {
    std::uint64_t site = 0;
    std::uint64_t base = 0;
    std::uint32_t scale = 0;  // 0: unknown
    std::uint32_t misfits = 0;
    std::int32_t trust = 0;  // recent matches less mismatches
    std::uint32_t attempts = 0;
    bool has_last = false;
    std::uint64_t last = 0;  // the previous miss, and the values kept at that time
    std::array<std::uint64_t, k_compared> values{};
  };

  Level propagate(std::uint64_t line, std::uint64_t host, std::uint64_t canonical, std::uint64_t site);
  [[nodiscard]] Level match_pointer(std::uint64_t host) const;
  // Returns the level of the value that the site's base and scale map to the address, or k_no_level.
  [[nodiscard]] Level match_index(std::uint64_t canonical, const Site& site) const;
  void learn_law(std::uint64_t canonical, Site& site);
  [[nodiscard]] static std::size_t slot(std::uint64_t site) { return (site ^ (site >> 4)) % k_sites; }

  std::array<Line, k_lines> lines_{};
  std::uint32_t next_line_ = 0;
  std::uint32_t hits_ = 0;                        // since the last demand miss
  std::array<std::uint64_t, k_values> values_{};  // separate from their levels: every demand miss scans them
  std::array<Level, k_values> levels_{};
  std::uint32_t next_value_ = 0;
  std::array<Site, k_sites> sites_{};
};

}  // namespace terrace::observe
