// SPDX-License-Identifier: Apache-2.0
// Moves pages by mremap(2) with MREMAP_DONTUNMAP. See grown_blocks.hpp.
#include "agent/interpose/grown_blocks.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "agent/heap/object_registry.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/late_start.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/next.hpp"
#include "core/rounding.hpp"
#include "memory/region_space.hpp"
#include "observe/coverage/time_samples.hpp"

namespace terrace::agent {

namespace {

#ifndef MREMAP_DONTUNMAP
constexpr int MREMAP_DONTUNMAP = 4;  // Linux 5.7
#endif

// Moves the pages of [from, from + size) to `to`. The source range stays mapped, without pages, so that no other
// thread can map there.
bool move_pages_of(std::uint64_t from, std::uint64_t to, std::size_t size) noexcept {
  return syscall(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) ==
         static_cast<long>(to);
}

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

}  // namespace

void* grow_object(void* block, std::size_t size, std::size_t room) noexcept {
  Process* const here = process();
  if (!here || here->simulated || observe::t_thread.inside != 0) return nullptr;
  const observe::AgentScope scope;
  return grow_by_pages(*here, block, size, room);
}

void raise_mmap_threshold(std::size_t size) noexcept {
  static constinit std::atomic<std::size_t> told{0};
  if (size > k_always_mapped || size <= told.load(std::memory_order_relaxed)) return;
  told.store(size, std::memory_order_relaxed);
  if (const auto* const next = next_allocator()) next->free(next->malloc(size));
}

}  // namespace terrace::agent
