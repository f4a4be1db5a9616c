// Which misses had to wait for the data of another: pointer and index chases.
//
// Values that are loaded from a line which a demand miss brought lately (not a stream) are kept. A later miss is
// dependent when its address less such a value is in [0, 4096) (a pointer to a structure), or when it is
// base + scale x value with the base and scale (4, 8, 16) that the call site has shown before (an index). Values
// are read as the load is about to: the hook runs before it. Control dependence is not seen.
//
// A chain goes on through lines that a cache or a stream happens to serve: while there are demand misses about,
// the value of such a load is kept, too, if the address of the load depends on one that is. It arrives when that
// one did. What a stream or a cache serves on its own makes no dependence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "observe/cache/level.hpp"

namespace terrace::observe {

class Dependence {
 public:
  // A demand miss brought the line; its data arrive at `level` (see exposure.hpp).
  void missed(std::uint64_t line, Level level);
  // A load at this address was served without a demand miss: the level of the value that it depends on, if it
  // does; the line then counts as one of those lately missed.
  Level served(std::uint64_t line, std::uint64_t host, std::uint64_t canonical, std::uint64_t site) {
    if (served_ >= k_attention) return k_no_level;
    ++served_;
    return carried(line, host, canonical, site);
  }
  // The level at which the line's data arrive, if values loaded from it are kept.
  [[nodiscard]] Level fresh(std::uint64_t line) const;
  // `value` was loaded from a line whose data arrive at `level`.
  void loaded(std::uint64_t value, Level level);
  // A miss at this address by the instruction at `site`: the level of the value it depends on, if it does.
  Level depends(std::uint64_t host, std::uint64_t canonical, std::uint64_t site);

 private:
  static constexpr std::uint64_t k_reach = 4096;
  static constexpr std::uint32_t k_lines = 16;
  static constexpr std::uint32_t k_values = 32;
  static constexpr std::uint32_t k_sites = 256;
  static constexpr std::uint32_t k_compared = 16;   // values compared while a site's law is unknown
  static constexpr std::uint32_t k_patience = 64;   // vain attempts before a site is tried rarely only
  static constexpr std::uint32_t k_attention = 32;  // loads served since the last demand miss that are looked at
  // A law counts while it fits more often than not: numbers that are no indices may look like them now and then
  // (random updates of a table that holds its own indices).
  static constexpr std::int32_t k_trusted = 4;
  static constexpr std::uint32_t k_misfits = 32;  // misses in a row that do not follow a law before it is dropped

  struct Line {
    std::uint64_t line = ~std::uint64_t{0};
    Level level = 0;
  };
  // A call site whose misses may follow values affinely. Addresses are canonical, so that the law holds whatever
  // the system randomised; and so is the index, which uses the bits of the site that are within a page.
  struct Site {
    std::uint64_t site = 0;
    std::uint64_t base = 0;
    std::uint32_t scale = 0;  // 0: no law yet
    std::uint32_t misfits = 0;
    std::int32_t trust = 0;  // fits less misfits, lately
    std::uint32_t attempts = 0;
    bool has_last = false;
    std::uint64_t last = 0;  // the miss before, and what had been loaded then
    std::array<std::uint64_t, k_compared> values{};
  };

  Level carried(std::uint64_t line, std::uint64_t host, std::uint64_t canonical, std::uint64_t site);
  [[nodiscard]] Level pointer(std::uint64_t host) const;
  // By the site's law.
  [[nodiscard]] Level index(std::uint64_t canonical, const Site& site) const;
  void learn(std::uint64_t canonical, Site& site);
  [[nodiscard]] static std::size_t slot(std::uint64_t site) { return (site ^ (site >> 4)) % k_sites; }

  std::array<Line, k_lines> lines_{};
  std::uint32_t next_line_ = 0;
  std::uint32_t served_ = 0;                      // since the last demand miss
  std::array<std::uint64_t, k_values> values_{};  // apart from their levels: every demand miss scans them
  std::array<Level, k_values> levels_{};
  std::uint32_t next_value_ = 0;
  std::array<Site, k_sites> sites_{};
};

}  // namespace terrace::observe
