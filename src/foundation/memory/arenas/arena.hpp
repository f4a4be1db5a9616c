// One arena's blocks. Those of up to 32 KiB come from slabs, runs of pages with blocks of one size class; larger
// ones are runs of their own. A slab of which no block is in use goes back, but for one of each class. Safe from
// several threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "memory/arenas/extent_pages.hpp"
#include "memory/arenas/size_classes.hpp"

namespace terrace::memory {

// Pages that follow each other: a slab, or one block.
struct Run {
  std::uint64_t address = 0;
  std::uint64_t pages = 0;
  std::size_t block = 0;  // bytes of one
  std::size_t size_class = 0;
  // Of a slab:
  void* free = nullptr;      // blocks that were given back; each has the address of the next
  std::uint32_t used = 0;    // blocks that are handed out
  std::uint32_t fresh = 0;   // blocks from here on never were
  std::uint32_t blocks = 0;  // all
  Run* next = nullptr;       // in the list of slabs that have free blocks
  Run* previous = nullptr;
};

class Arena {
 public:
  static constexpr std::size_t k_largest_class = 32768;
  static constexpr std::size_t k_classes = size_class_of(k_largest_class) + 1;

  explicit Arena(BlockArena::Extents& extents) : pages_(extents) {}

  // Up to `count` blocks of the class, linked by their first words; how many there are.
  std::size_t take(std::size_t size_class, std::size_t count, void** list) noexcept;
  // Blocks of any classes, linked so.
  void give(void* list) noexcept;
  // A block of its own pages, and back.
  void* take_large(std::size_t size, std::size_t alignment) noexcept;
  void give_large(Run* run) noexcept;
  // What is kept in vain goes back to the source.
  void purge() noexcept;

  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  struct Class {
    Run* some = nullptr;   // slabs with free blocks
    Run* empty = nullptr;  // one of them, of which none is in use
  };
  Run* add_slab(std::size_t size_class) noexcept;
  void link(Class& of, Run* slab) noexcept;
  void unlink(Class& of, Run* slab) noexcept;
  void drop(Class& of, Run* slab) noexcept;

  std::mutex mutex_;
  ExtentPages pages_;
  std::array<Class, k_classes> classes_{};
};

}  // namespace terrace::memory
