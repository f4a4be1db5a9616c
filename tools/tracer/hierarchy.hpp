// SPDX-License-Identifier: Apache-2.0
// Simulates the caches of a machine without time: tells which accesses miss the last level. trace_misses.cpp runs
// traces through it, where every miss needs its instruction, and tests check the access pipeline against it. The
// contract is the pipeline's (filled from the outside in, dirty victims go outwards), in the few lines that it
// takes without dependences, streams and speed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/machine.hpp"
#include "tracer/lru_cache.hpp"

namespace terrace::tracer {

struct Caches {
  std::vector<machine::Cache> levels;  // from the core outwards; the last shared one is the last level
  Bytes line{64};                      // a power of two
};

class Hierarchy {
 public:
  // Throws Error{invalid} where private caches are behind shared ones, or the line is not a power of two.
  explicit Hierarchy(const Caches& caches);

  // One access of a thread to a line (address / line size); true when it comes from memory.
  bool access(std::uint32_t thread, std::uint64_t line, bool store);
  [[nodiscard]] std::uint64_t fetched() const { return fetched_; }
  [[nodiscard]] std::uint64_t written() const { return written_; }  // lines back to memory

 private:
  void add_thread(std::uint32_t thread);
  void write_out(std::uint32_t thread, std::size_t level, std::uint64_t line);
  [[nodiscard]] LruCache& level_of(std::uint32_t thread, std::size_t level) {
    return level < private_levels_ ? own_[thread][level] : shared_[level - private_levels_];
  }

  Caches caches_;
  std::size_t private_levels_ = 0;
  std::size_t levels_ = 0;
  std::vector<std::vector<LruCache>> own_;  // by thread; empty for those that never came
  std::vector<LruCache> shared_;
  std::vector<std::optional<std::uint64_t>> written_out_;  // in the access under way, by level
  std::uint64_t fetched_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace terrace::tracer
