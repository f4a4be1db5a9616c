// Blocks of memory that may be larger than RAM: their chunks are in memory or in a file
// (transfer/spill/spill.hpp).
#pragma once

#include <cstddef>

#include "memory/region_space.hpp"
#include "transfer/spill/spill.hpp"

namespace terrace::agent {

class SpilledHeap {
 public:
  // Smaller blocks are left to the next allocator: a block has chunks of its own.
  static constexpr std::size_t k_least = std::size_t{1} << 20;

  static constexpr std::size_t k_granule = transfer::Spill::k_chunk;  // sizes are multiples of it

  // At most `reserve` bytes of blocks. `parts` without base and size. Throws Error{failed}, as Spill does.
  SpilledHeap(Bytes reserve, transfer::Spill::Parts parts);

  // Zeros; nullptr where there is no room: the caller asks the next allocator.
  void* allocate(std::size_t size, std::size_t alignment) noexcept;
  // False, and nothing happened, where it is none of these blocks.
  bool release(void* block) noexcept;
  [[nodiscard]] bool contains(const void* block) const noexcept { return space_.contains(block); }
  // Zeros, as after madvise(2) with MADV_DONTNEED, of which the system would know nothing where a chunk is away.
  static void clear(void* address, std::size_t size) noexcept;
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept { return space_.find(block).size; }

  // Around fork: the child has a copy of the content.
  void before_fork() noexcept;
  void after_fork() noexcept;
  void in_child() noexcept;

 private:
  memory::RegionSpace space_;
  transfer::Spill spill_;
};

}  // namespace terrace::agent
