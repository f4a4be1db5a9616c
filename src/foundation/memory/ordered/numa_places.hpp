// SPDX-License-Identifier: Apache-2.0
// Implements PlaceSystem (ordered_fill.hpp) for places that are NUMA nodes of the running kernel. The agent's heap
// of data with memory attributes uses it. Allocates nothing after construction.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "memory/ordered/ordered_fill.hpp"

namespace terrace::memory {

class NumaPlaces final : public PlaceSystem {
 public:
  // Reads what does not change: the sizes of the nodes from sysfs, the kernel's reserves from /proc/zoneinfo.
  explicit NumaPlaces(const machine::Machine& machine);

  [[nodiscard]] std::uint64_t capacity(PlaceId place) const noexcept override { return nodes_[place].total; }
  [[nodiscard]] std::uint64_t kernel_reserve(PlaceId place) const noexcept override {
    return nodes_[place].reserve;
  }
  [[nodiscard]] std::uint64_t free_bytes(PlaceId place) noexcept override;
  int prefer_place(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override;
  void reset_policy(std::uint64_t address, std::uint64_t size) noexcept override;
  int populate(std::uint64_t address, std::uint64_t size) noexcept override;
  int migrate_to(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override;
  int query_places(std::uint64_t address, std::span<PlaceId> places) noexcept override;
  void wait_briefly() noexcept override;

  // Returns whether the range of the page has the policy that prefer_place() sets; for k_no_place, whether it is
  // mapped at all. Returns true if the kernel does not tell.
  [[nodiscard]] bool has_policy_for(std::uint64_t address, PlaceId place) const noexcept;

 private:
  struct Node {
    int number = -1;  // -1: none
    std::uint64_t total = 0;
    std::uint64_t reserve = 0;
  };
  std::vector<Node> nodes_;  // by place
};

}  // namespace terrace::memory
