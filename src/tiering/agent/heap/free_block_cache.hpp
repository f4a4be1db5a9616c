// SPDX-License-Identifier: Apache-2.0
// Caches recently freed blocks with their pages, so that a program that repeatedly frees and allocates a size
// causes no system calls. Used by OrderedHeap and SpilledHeap. Not thread-safe: the owner holds a lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace terrace::agent {

class FreeBlockCache {
 public:
  static constexpr std::size_t k_max = 8;
  static constexpr std::uint64_t k_max_bytes = 64ULL << 20;  // limit that the owners apply
  struct Block {
    std::uint64_t address = 0, size = 0;  // size 0: no block
  };

  // Removes and returns the most recently freed block of exactly this size and suitable alignment.
  Block take(std::uint64_t size, std::uint64_t alignment) noexcept {
    for (auto i = count_; i > 0; --i)
      if (blocks_[i - 1].size == size && blocks_[i - 1].address % alignment == 0) return remove(i - 1);
    return {};
  }
  // Removes and returns the oldest block.
  Block take_oldest() noexcept { return count_ > 0 ? remove(0) : Block{}; }
  // Requires: !is_full().
  void insert(const Block& block) noexcept {
    blocks_[count_++] = block;
    bytes_ += block.size;
  }
  [[nodiscard]] bool contains(std::uint64_t address) const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
      if (blocks_[i].address == address) return true;
    return false;
  }
  [[nodiscard]] bool is_full() const noexcept { return count_ == k_max; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  Block remove(std::size_t at) noexcept {
    const auto block = blocks_[at];
    for (--count_; at < count_; ++at) blocks_[at] = blocks_[at + 1];
    bytes_ -= block.size;
    return block;
  }

  std::array<Block, k_max> blocks_{};  // oldest first
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace terrace::agent
