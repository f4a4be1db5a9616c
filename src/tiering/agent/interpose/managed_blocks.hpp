// SPDX-License-Identifier: Apache-2.0
// Finds the heap of Terrace that owns a block, and releases, resizes and validates the block there. Used by the
// interposed allocator (allocation.cpp). All functions preserve errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "agent/heap/libc_arena.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/heap/spilled_small.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "memory/region_space.hpp"

namespace terrace::agent {

enum class BlockOwner : std::uint8_t {
  next,           // the next allocator, or unknown memory
  libc_arena,     // g_libc_arena
  small_spilled,  // SpilledSmall
  spilled,        // SpilledHeap; its mappings may contain blocks of the program's allocator
  small_ordered,  // SmallBlocks of the OrderedHeap
  ordered,        // OrderedHeap
  object,         // the address space of objects, regions()
};

// Returns the heap whose address range contains the address. Takes no lock: the next allocator's blocks cost a
// few comparisons.
inline BlockOwner owner_of(const void* address) noexcept {
  if (g_libc_arena.contains(address)) return BlockOwner::libc_arena;
  if (const auto* const heap = spilled_heap(); heap && heap->contains(address)) {
    const auto* const small = spilled_small();
    return small && small->contains(address) ? BlockOwner::small_spilled : BlockOwner::spilled;
  }
  if (const auto* const heap = ordered_heap()) {
    if (heap->small().contains_address(address)) return BlockOwner::small_ordered;
    if (heap->has_placed() && heap->contains(address)) return BlockOwner::ordered;
  }
  const auto* const space = regions();
  return space && space->contains(address) ? BlockOwner::object : BlockOwner::next;
}

struct ManagedBlock {
  BlockOwner owner = BlockOwner::next;
  std::size_t size = 0;  // usable bytes
};

// In the following, `owner` is owner_of(the address).

// Returns the block of Terrace's heaps at the address; owner `next` if it is not in one.
ManagedBlock find_managed(BlockOwner owner, const void* address) noexcept;
// Returns false, without effect, if no block of the owner begins there. Requires: owner is not `next`.
bool release_managed(BlockOwner owner, void* block) noexcept;
// Resizes a spilled block in place. Returns false, without effect, if impossible, and for blocks of other heaps.
bool resize_managed(const ManagedBlock& old, void* block, std::size_t size) noexcept;
// Moves the first `size` bytes of an object's block to a new block of `room` bytes, and returns that. Moves pages
// instead of copying (mremap(2)), as the C library does for blocks of this size. Returns null, without effect, in
// virtual time, if the kernel refuses, or if there is no capacity.
void* grow_object(void* block, std::size_t size, std::size_t room) noexcept;
// Aborts the program, after writing `line`, if the owner has no block that begins there. The C library aborts such
// a program, too; Terrace's blocks have no header by which it could recognise the error. Returns where others may
// have mapped memory since: mappings of the program's allocator, or ranges given up by confine().
void require_valid_block(BlockOwner owner, const void* address, const char* line) noexcept;

}  // namespace terrace::agent
