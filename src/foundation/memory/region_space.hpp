// Where big blocks come from: one reserved range of address space that is handed out in whole granules, so that
// every block has pages of its own, which can be placed and moved without anybody else's data. Blocks of 2 MiB and
// more begin at a multiple of it: huge pages fit.
//
// Addresses, relative to the base, depend on the history of calls alone (address-ordered first fit). A block is
// all zero when it is handed out and has no page yet: what is given back goes back to the system, and so does what
// a neighbour's huge page has left. What is known about blocks is
// outside of them. Safe from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/units.hpp"
#include "memory/free_ranges.hpp"

namespace terrace::memory {

class RegionSpace {
 public:
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t size = 0;  // whole granules
  };

  // Reserves `reserve` bytes of address space, or as much less (halving) as the system allows and leaves the
  // program its share (core/address_space.hpp), without using memory for it. With less than 64 MiB to be had the
  // space is empty and every allocation fails.
  explicit RegionSpace(Bytes reserve = Bytes{1ULL << 40}, Bytes granule = Bytes{4096});
  ~RegionSpace();
  RegionSpace(const RegionSpace&) = delete;
  RegionSpace& operator=(const RegionSpace&) = delete;

  // `size` bytes rounded up to granules; `alignment` is a power of two. nullptr when there is no room or the
  // system gives no memory.
  void* allocate(std::size_t size, std::size_t alignment = 1) noexcept;
  // The size of the block that begins at `address`, which then is free; 0 when no block begins there.
  std::size_t release(void* address) noexcept;
  // The granules of [address, address + size) are free, whatever part of which block they are; what is left of a
  // block is a block. Both are whole granules.
  void release_part(std::uint64_t address, std::uint64_t size) noexcept;
  // A block there, of whole granules; false, and nothing changed, where one of them is taken.
  bool allocate_at(std::uint64_t address, std::uint64_t size) noexcept;
  // Makes the block longer or shorter where it is; false, and nothing changed, when the place behind it is taken.
  bool resize(void* address, std::size_t size) noexcept;

  // Nothing is handed out any more, what is free is unmapped, and so are blocks that are released: others may map
  // there from then on.
  void leave() noexcept;

  // Whether the address is in the reserved range. Takes no lock.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uint64_t>(address) - base_ < reserved_.load(std::memory_order_relaxed);
  }
  // The block that holds the address; size 0 when none does.
  [[nodiscard]] Block find(const void* address) const noexcept;
  [[nodiscard]] std::uint64_t base() const { return base_; }
  [[nodiscard]] Bytes reserved() const { return Bytes{reserved_}; }
  [[nodiscard]] Bytes in_use() const noexcept;

  // Around fork: nobody else is inside while the process is copied.
  void lock() const { mutex_.lock(); }
  void unlock() const { mutex_.unlock(); }

 private:
  bool make_accessible(std::uint64_t end);
  void unmap_above(std::uint64_t end);
  void drop_pages(std::uint64_t offset, std::uint64_t size);
  void drop_rest(std::uint64_t offset, std::uint64_t size);
  void give_back(std::uint64_t offset, std::uint64_t size);

  mutable std::mutex mutex_;
  std::uint64_t mapped_ = 0;  // what was mapped, for unmapping: begins before base_ where that was aligned
  std::uint64_t mapped_size_ = 0;
  std::uint64_t base_ = 0;
  std::atomic<std::uint64_t> reserved_{0};
  std::uint64_t granule_ = 0;
  std::uint64_t accessible_ = 0;  // bytes from the base on that can be read and written
  std::uint64_t in_use_ = 0;
  bool is_left_ = false;
  FreeRanges free_;                                // in bytes from the base
  std::map<std::uint64_t, std::uint64_t> blocks_;  // offset -> size
};

}  // namespace terrace::memory
