// SPDX-License-Identifier: Apache-2.0
// Computes the line parts that an access of a warp requests: each once, in the order of the lanes that need them
// first, as every GPU since Fermi coalesces.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

// Adds the parts that `bytes` bytes at `address` need to those from position `first` on.
inline void coalesce(std::vector<LinePart>& parts, std::size_t first, std::uint64_t address, std::uint32_t bytes) {
  constexpr auto k_sectors = k_line_bytes / k_sector_bytes;
  const auto end = address + bytes - 1;
  for (auto sector = address / k_sector_bytes; sector <= end / k_sector_bytes; ++sector) {
    const auto line = sector / k_sectors;
    const auto bit = 1U << (sector % k_sectors);
    auto at = first;
    while (at < parts.size() && parts[at].line() != line) ++at;
    if (at == parts.size())
      parts.emplace_back(line, bit);
    else
      parts[at] = {line, parts[at].sectors() | bit};
  }
}

}  // namespace terrace::gpu_sim
