// SPDX-License-Identifier: Apache-2.0
// Dispatches to the heap that owns a block. See managed_blocks.hpp.
#include "agent/interpose/managed_blocks.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "agent/heap/object_registry.hpp"
#include "agent/interpose/grown_blocks.hpp"
#include "agent/lifecycle/process.hpp"
#include "core/errno_scope.hpp"
#include "memory/arenas/block_arena.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

namespace {

using memory::BlockArena;

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

bool release_object(void* block) noexcept {
  auto& space = *regions();
  const auto found = space.find(block);
  if (found.address != reinterpret_cast<std::uint64_t>(block)) return false;
  const observe::AgentScope scope;
  if (auto* const here = process()) {
    here->objects->remove(found.address, found.address + found.size);
    grow_big_block(*here, found.size);
    if (!here->simulated) raise_mmap_threshold(found.size);
  }
  space.release(block);
  return true;
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

void require_valid_block(BlockOwner owner, const void* address, const char* line) noexcept {
  if (!is_invalid_block(owner, address)) return;
  // Bare system call: the program may have interposed write().
  syscall(SYS_write, STDERR_FILENO, line, std::strlen(line));
  std::abort();
}

}  // namespace terrace::agent
