// Who decides, page by page, while a program runs on the GPU: what the simulator asks and tells. Placements that
// are made before and stay are here; policies are in policy_decider.hpp. Pages are numbers of the page table,
// memories are numbers of the GPU's list: 0 is its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/page_mover.hpp"
#include "gpu_sim/engine/page_table.hpp"

namespace terrace::gpu_sim {

class PageDecider {
 public:
  virtual ~PageDecider() = default;
  // The memories of an allocation's new pages, page by page, over and over. Without more said: beyond its own.
  [[nodiscard]] virtual std::vector<std::uint8_t> initial(const Allocation&, std::uint64_t /*pages*/) {
    return {1};
  }
  // The pages are there.
  virtual void added(std::uint32_t /*first*/, std::uint32_t /*count*/, const PageTable&) {}
  // So many accesses to a page beyond the GPU's own memory make it be told; 0: never.
  [[nodiscard]] virtual std::uint32_t touches() const { return 0; }
  virtual void touched(std::uint32_t /*page*/, const PageTable&, PageMover&) {}
  // The GPU may not access pages beyond its own memory: a fault comes first.
  [[nodiscard]] virtual bool far_faults() const { return false; }
  // The GPU accessed pages that it might not. Those that are not asked to move are mapped for it where they are.
  virtual void faulted(std::span<const std::uint32_t> /*pages*/, Cycle /*now*/, PageMover&) {}
  // One access in so many is told, and written down in the first memory beyond the GPU's own; 0: none is.
  [[nodiscard]] virtual std::uint32_t sample_period() const { return 0; }
  virtual void sampled(std::uint32_t /*page*/, bool /*write*/) {}
  // The page was asked to move, and stays for want of room.
  virtual void stayed(std::uint32_t /*page*/) {}
  // The page is in that memory from now on.
  virtual void moved(std::uint32_t /*page*/, std::uint8_t /*memory*/) {}
  // Cycles between two looks at the traffic; 0: none.
  [[nodiscard]] virtual Cycle interval() const { return 0; }
  // What happened since the last look.
  struct Seen {
    std::vector<std::uint64_t> bytes;   // of each memory's channels, by the GPU's accesses
    std::uint64_t instructions = 0;     // of warps
    std::vector<std::uint32_t> walked;  // pages
    Cycle now = 0;
  };
  virtual void decide(const Seen&, const PageTable&, PageMover&) {}
};

// A share of the pages in the GPU's own memory, evenly spread: 0 is access over the link alone, 1 is what a copy
// before the run gives, that of the bandwidths is a weighted interleave.
class SharedPages final : public PageDecider {
 public:
  explicit SharedPages(double share) : share_(share) {}
  [[nodiscard]] std::vector<std::uint8_t> initial(const Allocation& allocation, std::uint64_t pages) override;

 private:
  double share_;
  double sum_ = 0;  // of the shares of the pages so far, less those that were given
};

// Pages that are named, in the order in which they are allocated.
class NamedPages final : public PageDecider {
 public:
  explicit NamedPages(std::vector<std::uint8_t> memory_of_page) : memory_of_page_(std::move(memory_of_page)) {}
  [[nodiscard]] std::vector<std::uint8_t> initial(const Allocation& allocation, std::uint64_t pages) override;
  void added(std::uint32_t first, std::uint32_t count, const PageTable& table) override;

 private:
  std::vector<std::uint8_t> memory_of_page_;
  std::size_t next_ = 0;
};

// The oracle's placement: the fewest pages, those with the most traffic first, that bring the share of the GPU's
// own memory to `share` (Agarwal et al., HPCA 2015, section II-A). `traffic`: of each page, from a run before.
[[nodiscard]] std::vector<std::uint8_t> oracle(std::span<const std::uint64_t> traffic, double share,
                                               std::uint64_t max_pages);

}  // namespace terrace::gpu_sim
