// What the C library and the dynamic linker ask an allocator for while a thread is inside Terrace: the table of
// thread-local data of a thread that begins, a stream, a folder's entries. None of that may come from the
// program's allocator: its lock may be held by a thread that waits for Terrace, as in an mmap(2) of the
// allocator's own. The arena also serves while the next allocator is being looked for.
//
// A fixed range of memory, so that a block is known by its address. There is no lock, so a child of fork(2) and a
// handler of a signal may use it at any moment.
//
// In virtual time nobody waits, and it serves nobody: where the program's small blocks are, and so what misses in
// a cache, stays as it was.
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
  static constexpr std::size_t k_largest = std::size_t{1} << 16;  // block
  static constexpr std::size_t k_max_aligned = 4096;              // alignment

  constexpr LibcArena() = default;
  LibcArena(const LibcArena&) = delete;
  LibcArena& operator=(const LibcArena&) = delete;

  // It serves threads that are inside Terrace from now on.
  void enable() noexcept { is_enabled_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool is_enabled() const noexcept { return is_enabled_.load(std::memory_order_relaxed); }

  // Null where there is no room for it, or never would be: the caller asks the next allocator. The content is
  // anything.
  void* allocate(std::size_t size, std::size_t alignment = 16) noexcept;
  // A block of it.
  void release(void* block) noexcept;
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(bytes_.data()) < k_arena;
  }
  // What was asked for.
  [[nodiscard]] static std::size_t size_of(const void* block) noexcept;

 private:
  static constexpr std::size_t k_unit = 16;  // addresses are multiples of it
  static constexpr std::size_t k_smallest = 32;
  static constexpr std::size_t k_classes = std::bit_width(k_largest / k_smallest);
  struct Header;
  // The first free block of a class, as the number of its unit, 0 for none; above that how often it has changed.
  using List = std::atomic<std::uint64_t>;

  [[nodiscard]] std::byte* at(std::uint32_t unit) noexcept { return bytes_.data() + unit * k_unit; }
  void* take_free(List& list) noexcept;
  void* take_fresh(std::size_t size, std::size_t alignment) noexcept;

  std::array<List, k_classes> free_{};
  std::atomic<std::size_t> used_{0};
  std::atomic<bool> is_enabled_{false};
  alignas(k_max_aligned) std::array<std::byte, k_arena> bytes_{};
};

// The one of this process.
extern constinit LibcArena g_libc_arena __attribute__((visibility("hidden")));

}  // namespace terrace::agent
