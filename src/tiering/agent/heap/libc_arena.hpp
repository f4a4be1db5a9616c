// SPDX-License-Identifier: Apache-2.0
// Serves allocations that the C library and the dynamic linker make while a thread is inside Terrace: the TLS
// table of a new thread, a stream, a directory buffer. They must not reach the program's allocator: its lock may
// be held by a thread that waits for Terrace, for instance in the allocator's own mmap(2). The arena also serves
// while the next allocator is being resolved. The interposed malloc family calls it.
//
// One fixed range of memory identifies blocks by their address. Lock-free: async-signal-safe, and usable in a
// child of fork(2) at any time.
//
// Disabled in virtual time, so that heap addresses and cache misses stay unchanged.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace terrace::agent {

class LibcArena {
 public:
  static constexpr std::size_t k_arena = std::size_t{1} << 20;
  static constexpr std::size_t k_largest = std::size_t{1} << 16;  // block size
  static constexpr std::size_t k_max_aligned = 4096;              // alignment

  constexpr LibcArena() = default;
  LibcArena(const LibcArena&) = delete;
  LibcArena& operator=(const LibcArena&) = delete;

  // Starts to serve threads that are inside Terrace.
  void enable() noexcept { is_enabled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_enabled() const noexcept { return is_enabled_.load(std::memory_order_relaxed); }

  // Returns uninitialised memory, or null if the request is too large or the arena full: the caller then uses the
  // next allocator.
  void* allocate(std::size_t size, std::size_t alignment = 16) noexcept;
  // Requires: contains(block).
  void release(void* block) noexcept;
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(bytes_.data()) < k_arena;
  }
  // Returns the requested size.
  [[nodiscard]] static std::size_t size_of(const void* block) noexcept;

 private:
  static constexpr std::size_t k_unit = 16;  // granularity of addresses
  static constexpr std::size_t k_smallest = 32;
  static constexpr std::size_t k_classes = std::bit_width(k_largest / k_smallest);
  struct Header;
  // Head of a class's free list. Low 32 bits: unit number of the first free block, 0 if none. High 32 bits: a
  // modification counter against ABA.
  using List = std::atomic<std::uint64_t>;

  [[nodiscard]] std::byte* at(std::uint32_t unit) noexcept { return bytes_.data() + unit * k_unit; }
  void* take_free(List& list) noexcept;
  void* take_fresh(std::size_t size, std::size_t alignment) noexcept;

  std::array<List, k_classes> free_{};
  std::atomic<std::size_t> used_{0};
  std::atomic<bool> is_enabled_{false};
  alignas(k_max_aligned) std::array<std::byte, k_arena> bytes_{};
};

// The process's arena.
extern constinit LibcArena g_libc_arena __attribute__((visibility("hidden")));

}  // namespace terrace::agent
