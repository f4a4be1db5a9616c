// SPDX-License-Identifier: Apache-2.0
// Models the accessed bits of a chunk's pages, for the collectors in virtual time: which of them were read since
// the bits were cleared.
//
// A chunk of 2 MiB and more has pages of 2 MiB, a smaller one pages of 4 KiB. A miss carries its line modulo
// 65,536. In larger chunks a change of the page number, modulo that, counts as a new page: exact for one stream
// through the chunk; with several streams the whole chunk soon counts as touched.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "memory/chunk_table.hpp"

namespace terrace::observe {

inline constexpr std::uint64_t k_small_page = 4096;
inline constexpr std::uint64_t k_huge_page = 2 << 20;
inline constexpr std::uint64_t k_distinct_lines = 65536;  // distinct line numbers of a miss

inline std::uint64_t page_of(std::uint64_t chunk_size) {
  return chunk_size < k_huge_page ? k_small_page : k_huge_page;
}
inline std::uint64_t pages_of(std::uint64_t chunk_size) {
  const auto page = page_of(chunk_size);
  return (chunk_size + page - 1) / page;
}

// Returns the number of pages of all live chunks.
inline std::uint64_t pages_of(const memory::ChunkTable& chunks) {
  std::uint64_t pages = 0;
  for (const auto& chunk : chunks)
    if (chunk.live) pages += pages_of(chunk.size);
  return pages;
}

class PageBits {
 public:
  // Sets the bit of the page at `offset` in the chunk, in bytes modulo 65,536 lines; `page`: page_of the chunk's
  // size.
  void set(std::uint64_t offset, std::uint64_t page) {
    const auto at = static_cast<std::uint32_t>(offset / page) % k_max;
    if (at == last_) return;
    last_ = at;
    ++changes_;
    bits_[at / 64] |= std::uint64_t{1} << (at % 64);
  }
  // Returns an estimate of the bytes touched: whole pages, of the last one half if only a part of the chunk was
  // touched. `distinct_bytes`: the range of offsets.
  [[nodiscard]] double touched(std::uint64_t chunk_size, std::uint64_t distinct_bytes) const {
    std::uint64_t pages = 0;
    for (const auto word : bits_) pages += static_cast<std::uint64_t>(std::popcount(word));
    const auto all = pages_of(chunk_size);
    if (chunk_size > distinct_bytes) pages = std::min<std::uint64_t>(changes_, all);
    if (pages == all) return static_cast<double>(chunk_size);
    return pages > 0 ? (static_cast<double>(pages) - 0.5) * static_cast<double>(page_of(chunk_size)) : 0;
  }

 private:
  static constexpr std::uint32_t k_max = 512;
  std::array<std::uint64_t, k_max / 64> bits_{};
  std::uint32_t last_ = k_max;
  std::uint32_t changes_ = 0;
};

}  // namespace terrace::observe
