// Places that are NUMA nodes, as the running kernel has them.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "memory/ordered/place_system.hpp"

namespace terrace::memory {

class NumaPlaces final : public PlaceSystem {
 public:
  // What does not change is read here: the nodes' sizes from sysfs, what the kernel keeps of each from
  // /proc/zoneinfo.
  explicit NumaPlaces(const machine::Machine& machine);

  [[nodiscard]] std::uint64_t total(PlaceId place) const noexcept override { return nodes_[place].total; }
  [[nodiscard]] std::uint64_t reserve(PlaceId place) const noexcept override { return nodes_[place].reserve; }
  [[nodiscard]] std::uint64_t free(PlaceId place) noexcept override;
  int prefer(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override;
  void forget(std::uint64_t address, std::uint64_t size) noexcept override;
  int populate(std::uint64_t address, std::uint64_t size) noexcept override;
  int bring(std::uint64_t address, std::uint64_t size, PlaceId place) noexcept override;
  int where(std::uint64_t address, std::span<PlaceId> places) noexcept override;
  void pause() noexcept override;

  // Whether the page's memory has the policy that prefer() sets, or, with k_no_place, is mapped at all. Where the
  // system does not say, it has.
  [[nodiscard]] bool prefers(std::uint64_t address, PlaceId place) const noexcept;

 private:
  struct Node {
    int number = -1;  // -1: none
    std::uint64_t total = 0;
    std::uint64_t reserve = 0;
  };
  std::vector<Node> nodes_;  // by place
};

}  // namespace terrace::memory
