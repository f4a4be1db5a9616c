// Where a stress's pages are, by the kernel.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "support/real_memory.hpp"

namespace terrace::tests {

// The kernel's answer for pages that are there: it says ENOENT of one that it is moving itself, for compaction.
inline std::vector<int> settled_nodes(std::uint64_t address, std::size_t pages) {
  constexpr int k_attempts = 20;
  auto nodes = kernel_nodes(address, pages);
  for (int attempt = 0; attempt < k_attempts && std::ranges::count(nodes, -ENOENT) > 0; ++attempt) {
    ::usleep(1000);
    nodes = kernel_nodes(address, pages);
  }
  return nodes;
}

}  // namespace terrace::tests
