// SPDX-License-Identifier: Apache-2.0
// Allocates memory for the measurements of machines and copiers: on one NUMA node, in huge or small pages,
// populated; and verifies its placement.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/units.hpp"

namespace terrace::machine {

enum class Pages { huge, small };

class PlacedBuffer {
 public:
  // Maps memory, sets its node (-1: no policy) and touches every page. The policy is MPOL_PREFERRED, not
  // MPOL_BIND, which invokes the out-of-memory killer on a full node. Throws Error{no_memory}, or
  // Error{unsupported} if the system refuses the policy.
  PlacedBuffer(Bytes size, Pages pages, int numa_node);
  ~PlacedBuffer();
  PlacedBuffer(const PlacedBuffer&) = delete;
  PlacedBuffer& operator=(const PlacedBuffer&) = delete;

  template <class T>
  [[nodiscard]] std::span<T> as() const {
    return {reinterpret_cast<T*>(begin_), size_ / sizeof(T)};
  }
  // Returns the share of sampled pages that the kernel reports on the node, or nothing if it does not tell.
  [[nodiscard]] std::optional<double> share_on(int numa_node) const;
  // Returns the share in huge pages by /proc/self/smaps, or nothing if it cannot be read.
  [[nodiscard]] std::optional<double> share_huge() const;

 private:
  void* map_ = nullptr;
  std::size_t map_size_ = 0;
  std::byte* begin_ = nullptr;  // aligned to a huge page
  std::size_t size_ = 0;
};

// Returns how much can be allocated on a node (-1: anywhere): its free memory, within the limit of the control
// group.
Bytes available_memory(int numa_node);

}  // namespace terrace::machine
