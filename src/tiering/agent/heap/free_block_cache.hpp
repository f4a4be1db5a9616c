// Blocks that were freed lately, with their pages: a program that frees one and allocates another of its size,
// over and over, gets it without a call of the system. Whoever uses it holds a lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace terrace::agent {

class FreeBlockCache {
 public:
  static constexpr std::size_t k_max = 8;
  static constexpr std::uint64_t k_max_bytes = 64ULL << 20;  // whoever uses it asks for no more
  struct Block {
    std::uint64_t address = 0, size = 0;  // size 0: none
  };

  // The latest that fits; it is kept no more.
  Block take(std::uint64_t size, std::uint64_t alignment) noexcept {
    for (auto i = count_; i > 0; --i)
      if (blocks_[i - 1].size == size && blocks_[i - 1].address % alignment == 0) return remove(i - 1);
    return {};
  }
  Block take_oldest() noexcept { return count_ > 0 ? remove(0) : Block{}; }
  // Only where it is not full().
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

  std::array<Block, k_max> blocks_{};  // the oldest first
  std::size_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace terrace::agent
