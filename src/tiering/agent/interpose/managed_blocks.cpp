// SPDX-License-Identifier: Apache-2.0
// Dispatches free(), realloc() and malloc_usable_size() of the program to the heap that owns the block. See
// managed_blocks.hpp.
#include "agent/interpose/managed_blocks.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "agent/heap/object_registry.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/late_start.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/next.hpp"
#include "core/errno_scope.hpp"
#include "core/rounding.hpp"
#include "memory/arenas/block_arena.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

namespace {

using memory::BlockArena;

#ifndef MREMAP_DONTUNMAP
constexpr int MREMAP_DONTUNMAP = 4;  // Linux 5.7
#endif

// Returns the usable bytes of the block, or 0 if the owner has none there.
std::size_t size_of(BlockOwner owner, const void* address) noexcept {
  switch (owner) {
    case BlockOwner::libc_arena:
      return LibcArena::size_of(address);
    case BlockOwner::small_spilled:
      return SpilledSmall::size_of(address);
    case BlockOwner::spilled:
      return spilled_heap()->size_of(address);
    case BlockOwner::small_ordered:
      return ordered_heap()->small().order_of(address) >= 0 ? SmallBlocks::size_of(address) : 0;
    case BlockOwner::ordered:
      return ordered_heap()->size_of(address);
    case BlockOwner::object:
      return regions()->find(address).size;
    default:
      return 0;
  }
}

// Does not account for its time, which is too short.
bool release_small_ordered(void* block) noexcept {
  const int order = ordered_heap()->small().order_of(block);
  if (order < 0 || !BlockArena::is_block_start(block)) return false;
  const observe::RuntimeScope inside;
  const ErrnoScope errno_scope;
  SmallBlocks::release(order, block);
  return true;
}

bool release_small_spilled(void* block) noexcept {
  if (!BlockArena::is_block_start(block)) return false;
  const observe::AgentScope scope;
  SpilledSmall::release(block);
  return true;
}

// Raises the C library's dynamic mmap threshold to `size` (mallopt(3), M_MMAP_THRESHOLD), as if it had freed such
// a block itself. It does not see blocks that Terrace frees, and would map and unmap smaller ones each time.
void raise_mmap_threshold(std::size_t size) noexcept {
  static constinit std::atomic<std::size_t> told{0};
  if (size > k_always_mapped || size <= told.load(std::memory_order_relaxed)) return;
  told.store(size, std::memory_order_relaxed);
  if (const auto* const next = next_allocator()) next->free(next->malloc(size));
}

// Frees an object's block: removes the object from the runtime and unmaps its pages. On a real machine the pages
// are kept for the next block of that size if they are where such a block begins anyway.
bool release_object(void* block) noexcept {
  auto& space = *regions();
  const auto found = space.find(block);
  if (found.address != reinterpret_cast<std::uint64_t>(block)) return false;
  const observe::AgentScope scope;
  bool retains = false;
  if (auto* const here = process()) {
    retains = here->objects->remove(found.address, found.address + found.size) && !here->simulated;
    grow_big_block(*here, found.size);
    if (!here->simulated) raise_mmap_threshold(found.size);
  }
  if (retains)
    space.retain(block);
  else
    space.release(block);
  return true;
}

// Moves the pages of [from, from + size) to `to`. The source range stays mapped, without pages, so that no other
// thread can map there.
bool move_pages_of(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept {
  return syscall(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) ==
         static_cast<long>(to);
}

// Moves the block's pages to a new object of `room` bytes. See grow_object().
void* grow_by_pages(Process& here, void* block, std::size_t size, std::size_t room) noexcept {
  auto& space = *here.regions;
  const auto old = space.find(block);
  if (old.size == 0 || old.address != reinterpret_cast<std::uint64_t>(block) || exceeds_memory(room))
    return nullptr;
  void* const larger = space.allocate(room);
  if (!larger) return nullptr;
  const auto low = reinterpret_cast<std::uint64_t>(larger);
  // First end migrations and userfaultfd registrations of the old range: the kernel may refuse to move such pages.
  here.objects->remove(old.address, old.address + old.size);
  char name[k_name_capacity];
  if (!move_pages_of(old.address, low, page_up(size))) {
    space.release(larger);
    here.objects->add_whole(name_caller(here, name), observe::ObjectKind::heap, old.address, old.size);
    return nullptr;
  }
  here.objects->add_whole(name_caller(here, name), observe::ObjectKind::heap, low, room);
  space.release(block);
  return larger;
}

bool is_invalid_object(const void* address) noexcept {
  const auto found = regions()->find(address);
  if (found.size > 0) return found.address != reinterpret_cast<std::uint64_t>(address);
  return process() != nullptr;  // if inactive, a block of Terrace may have been unmapped there
}

bool is_invalid_block(BlockOwner owner, const void* address) noexcept {
  switch (owner) {
    case BlockOwner::small_spilled:
      return !BlockArena::is_block_start(address);
    case BlockOwner::spilled:
      return process() && spilled_heap()->is_invalid_block(address);
    case BlockOwner::small_ordered:
    case BlockOwner::ordered:
      return ordered_heap()->is_invalid_block(address);
    case BlockOwner::object:
      return is_invalid_object(address);
    default:
      return false;
  }
}

}  // namespace

ManagedBlock find_managed(BlockOwner owner, const void* address) noexcept {
  const auto size = size_of(owner, address);
  return size > 0 || owner == BlockOwner::libc_arena ? ManagedBlock{owner, size} : ManagedBlock{};
}

bool release_managed(BlockOwner owner, void* block) noexcept {
  if (owner == BlockOwner::small_ordered) return release_small_ordered(block);
  if (owner == BlockOwner::small_spilled) return release_small_spilled(block);
  if (owner == BlockOwner::object) return release_object(block);
  if (owner == BlockOwner::libc_arena) {
    g_libc_arena.release(block);
    return true;
  }
  // In a child of fork(2) a spilled block is an ordinary mapping, and stays until the child ends.
  if (owner == BlockOwner::spilled && !process()) return spilled_heap()->size_of(block) > 0;
  const observe::AgentScope scope;
  return owner == BlockOwner::spilled ? spilled_heap()->release(block) : ordered_heap()->release(block);
}

bool resize_managed(const ManagedBlock& old, void* block, std::size_t size) noexcept {
  if (old.owner != BlockOwner::spilled || !process() || observe::t_thread.inside != 0) return false;
  const observe::AgentScope scope;
  return size > old.size ? spilled_heap()->grow(block, size) : spilled_heap()->shrink(block, size);
}

void* grow_object(void* block, std::size_t size, std::size_t room) noexcept {
  Process* const here = process();
  if (!here || here->simulated || observe::t_thread.inside != 0) return nullptr;
  const observe::AgentScope scope;
  return grow_by_pages(*here, block, size, room);
}

void require_valid_block(BlockOwner owner, const void* address, const char* line) noexcept {
  if (!is_invalid_block(owner, address)) return;
  // Bare system call: the program may have interposed write().
  syscall(SYS_write, STDERR_FILENO, line, std::strlen(line));
  std::abort();
}

}  // namespace terrace::agent
