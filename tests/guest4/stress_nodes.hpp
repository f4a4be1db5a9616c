// Queries the kernel for the nodes of a stress's pages.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "support/real_memory.hpp"

namespace terrace::tests {

// Returns the nodes of pages. It repeats the query for absent pages, because the kernel reports a page that it
// moves for compaction as absent. `present`: all pages are resident, and those that wait for a hinting fault of
// NUMA balancing are touched.
inline std::vector<int> settled_nodes(std::uint64_t address, std::size_t pages, bool present = false) {
  constexpr int k_attempts = 20;
  const auto is_absent = [](int node) { return node == -ENOENT || node == -EFAULT; };
  auto nodes = kernel_nodes(address, pages);
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    if (std::ranges::count(nodes, -ENOENT) == 0 && !(present && std::ranges::any_of(nodes, is_absent))) break;
    for (std::size_t i = 0; present && i < pages; ++i)
      if (is_absent(nodes[i]))
        (void)*reinterpret_cast<volatile char*>(address + i * k_page);  // NOLINT(performance-no-int-to-ptr)
    ::usleep(1000);
    nodes = kernel_nodes(address, pages);
  }
  return nodes;
}

}  // namespace terrace::tests
