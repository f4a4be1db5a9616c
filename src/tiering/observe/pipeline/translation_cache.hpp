// SPDX-License-Identifier: Apache-2.0
// Caches address translations by page, one cache a thread, so that most accesses do not search the address map.
// Each pipeline has two.
#pragma once

#include <cstdint>
#include <memory>

#include "observe/objects/address_map.hpp"

namespace terrace::observe {

inline constexpr unsigned k_page_bits = 12;

// Valid for [low, low + size). `low` and `origin` are in the address space, host or canonical, of the look-up.
struct alignas(64) Translation {
  std::uint64_t low = 0;
  std::uint64_t size = 0;
  std::uint64_t delta = 0;
  std::uint64_t origin = 0;
  std::uint32_t generation = 1;  // of the map; an odd one never matches
  ChunkId chunk = memory::k_no_chunk;
  std::uint64_t reuse_delta = 0;
};

class TranslationCache {
 public:
  TranslationCache() : entries_(std::make_unique<Translation[]>(std::size_t{1} << k_bits)) {}
  [[nodiscard]] Translation& slot(std::uint64_t address) {
    return entries_[((address >> k_page_bits) * 0x9E3779B97F4A7C15u) >> (64 - k_bits)];
  }
  [[nodiscard]] static bool matches(const Translation& entry, std::uint64_t address, std::uint32_t generation) {
    return address - entry.low < entry.size && entry.generation == generation;
  }
  static void set(Translation& entry, const Location& location, std::uint32_t generation) {
    entry = {location.low,   location.high - location.low, location.delta, location.origin, generation,
             location.chunk, location.reuse_delta};
  }

 private:
  static constexpr unsigned k_bits = 10;
  std::unique_ptr<Translation[]> entries_;
};

// Caches pages without a translation (negative cache): the slow search is not repeated until the map changes.
class UnknownPages {
 public:
  [[nodiscard]] bool has(std::uint64_t address, std::uint32_t generation) const {
    const Entry& entry = entries_[(address >> k_page_bits) % k_entries];
    return entry.page == address >> k_page_bits && entry.generation == generation;
  }
  void add(std::uint64_t address, std::uint32_t generation) {
    entries_[(address >> k_page_bits) % k_entries] = {address >> k_page_bits, generation};
  }

 private:
  static constexpr std::size_t k_entries = 64;
  struct Entry {
    std::uint64_t page = 0;
    std::uint32_t generation = 1;
  };
  Entry entries_[k_entries]{};
};

}  // namespace terrace::observe
