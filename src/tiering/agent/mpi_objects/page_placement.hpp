// SPDX-License-Identifier: Apache-2.0
// Places a range that is mapped and may have pages on a NUMA node: binds what will be touched, and migrates what
// is resident. For memory that other processes share: the policy of a range belongs to the shared object, and
// pages can be migrated while no other process has mapped them.
#pragma once

#include <cstdint>

namespace terrace::agent {

struct PagePlacement {
  int error = 0;                // of mbind(2), an errno value; then nothing was migrated
  std::uint64_t elsewhere = 0;  // resident bytes that are not on the node
  int reason = 0;               // why they are not, an errno value
};

// Binds the range to the node, and migrates its resident pages there. Pages of a shared file that this process has
// not touched (a library writes the file before it maps it) are read first, because the kernel migrates pages that
// are mapped. Requires: the range has whole pages and is readable. Does not allocate.
PagePlacement place_pages(std::uint64_t low, std::uint64_t high, int node) noexcept;

}  // namespace terrace::agent
