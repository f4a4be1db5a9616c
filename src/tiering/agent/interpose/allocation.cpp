// SPDX-License-Identifier: Apache-2.0
// Interposes the C allocator. Large blocks get pages of their own and become objects. Small blocks without an
// intent go to the next allocator. Allocations that the C library makes inside Terrace are served by
// g_libc_arena.
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "agent/heap/object_registry.hpp"
#include "agent/interpose/managed_blocks.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/next.hpp"
#include "core/rounding.hpp"
#include "memory/region_space.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

// Returns the process if a block of this size is to become an object, else null.
Process* tracks_size(std::size_t size) {
  if (observe::t_thread.inside != 0) return nullptr;
  Process* const here = ensure_started_for(size);
  return here && size >= here->big_block ? here : nullptr;
}

// Allocates a block with pages of its own, as an object or spilled. Returns null if there is no capacity: the
// caller then uses the next allocator. Preserves errno.
void* allocate_big(Process& here, std::size_t size, std::size_t alignment, bool zeros) {
  const observe::AgentScope scope;
  auto* const spilled = size >= SpilledHeap::k_min ? start_spilled_heap(here) : nullptr;
  if (void* const block = spilled ? spilled->allocate(size, alignment, zeros) : nullptr) {
    apply_plan_preference(here, *spilled, block);
    return block;
  }
  if (exceeds_memory(size)) return nullptr;
  void* const reused = here.regions->reuse(size, alignment);
  void* const block = reused ? reused : here.regions->allocate(size, alignment);
  if (!block) return nullptr;
  char name[k_name_capacity];
  const auto low = reinterpret_cast<std::uint64_t>(block);
  if (!reused) {
    here.objects->add_whole(name_caller(here, name), observe::ObjectKind::heap, low, size);
    return block;
  }
  here.objects->add_reused(name_caller(here, name), observe::ObjectKind::heap, low, size);
  return zeros ? std::memset(block, 0, size) : block;
}

// Bytes of small blocks that a thread allocates before the run's default intent applies to them. In a process with
// few small blocks, filling whole extents (2 MiB) for them costs more than placement can save.
constexpr std::size_t k_small_at_first = std::size_t{16} << 20;

// Returns false for a thread's first small blocks, which the next allocator serves. Counts `size` towards these.
bool is_worth_placing(std::size_t size) {
  static constinit thread_local std::size_t at_first __attribute__((tls_model("initial-exec"))) = 0;
  if (size >= OrderedHeap::k_min || at_first >= k_small_at_first) return true;
  at_first += size;
  return false;
}

// Allocates a block of any size by the intent. Returns null if there is no capacity.
void* allocate_by(OrderedHeap& heap, std::size_t size, std::size_t alignment, int intent, bool zeros) {
  if (SmallBlocks::fits(size, alignment)) return heap.small().allocate(size, alignment, intent, zeros);
  return size == 0 || exceeds_memory(size) ? nullptr
                                           : heap.allocate(size, alignment, intent, heap.default_fill(), zeros);
}

// Allocates by the thread's intent, or the run's default intent. Returns null without one. Also works in forked
// children.
void* allocate_ordered(std::size_t size, std::size_t alignment, bool zeros) {
  auto* const heap = ordered_heap();
  if (!heap || heap->is_shut_down() || observe::t_thread.inside != 0) return nullptr;
  auto intent = thread_intent();
  if (intent < 0) {
    intent = heap->default_intent();
    if (intent < 0 || !is_worth_placing(size)) return nullptr;
  }
  const observe::AgentScope scope;
  return allocate_by(*heap, size, alignment, intent, zeros);
}

// Allocates a block from one of Terrace's heaps. Returns null if the caller is to use the next allocator. Without
// `zeros` the block may contain old data. `caller`: return address of the interposed call.
inline void* allocate_managed(std::size_t size, const void* caller, std::size_t alignment = 1,
                              bool zeros = false) {
  if (size < k_page && !g_pointers.places_small_blocks.load(std::memory_order_relaxed)) [[likely]]
    return nullptr;
  if (void* const block = allocate_ordered(size, alignment, zeros)) return block;
  if (void* const block = allocate_small_spilled(size, alignment, zeros, caller)) return block;
  auto* const here = tracks_size(size);
  return here ? allocate_big(*here, size, alignment, zeros) : nullptr;
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

// Allocates while the next allocator is being resolved.
void* allocate_from_arena(std::size_t size, std::size_t alignment = 16) {
  void* const block = g_libc_arena.allocate(size, alignment);
  return block ? block : no_memory();
}

// Serves requests of the C library while the calling thread is inside Terrace. Returns null if the caller is to
// use the next allocator. Code of the program never runs inside.
void* allocate_for_runtime(std::size_t size, std::size_t alignment = 16) {
  if (observe::t_thread.inside == 0 || !g_libc_arena.is_enabled()) return nullptr;
  return g_libc_arena.allocate(size, alignment);
}

void* zeroed(void* block, std::size_t size) { return block ? std::memset(block, 0, size) : nullptr; }

void* move_block(void* from, std::size_t old_size, void* to, std::size_t size) {
  const observe::RuntimeScope inside;
  std::memcpy(to, from, std::min(old_size, size));
  return to;
}

// Allocates in place of a small block: by the intent of that block, not by the thread's present one.
void* allocate_like(BlockOwner owner, const void* block, std::size_t size, const void* caller) {
  if (owner == BlockOwner::small_ordered && !ordered_heap()->is_shut_down()) {
    const observe::RuntimeScope inside;
    return allocate_by(*ordered_heap(), size, 1, ordered_heap()->small().order_of(block), false);
  }
  void* const moved = owner == BlockOwner::small_spilled ? allocate_managed(size, caller) : nullptr;
  return moved ? moved : next_allocator()->malloc(size);
}

// Reallocates a block of an arena: keeps it unless it grows or shrinks to below half its size.
void* reallocate_small(const ManagedBlock& old, void* block, std::size_t size, const void* caller) {
  if (size <= old.size && size >= old.size / 2) return block;
  void* const moved = allocate_like(old.owner, block, size, caller);
  if (!moved) return size <= old.size ? block : no_memory();
  move_block(block, old.size, moved, size);
  release_managed(old.owner, block);
  return moved;
}

// Implements realloc() for a block of the next allocator, which it may outgrow.
void* reallocate_next(void* block, std::size_t size, const void* caller) {
  const auto* const next = next_allocator();
  void* const moved = next ? allocate_managed(size, caller) : nullptr;
  if (!moved) return next ? next->realloc(block, size) : no_memory();
  move_block(block, next->malloc_usable_size(block), moved, size);
  next->free(block);
  return moved;
}

// Implements realloc() for a block of Terrace's heaps with pages of its own, or of the C library's arena.
void* reallocate_pages(const ManagedBlock& old, void* block, std::size_t size, const void* caller) {
  const auto granule = old.owner == BlockOwner::spilled ? SpilledHeap::k_granule : k_page;
  if (old.owner != BlockOwner::libc_arena && size >= k_page &&
      ceil_div(size, granule) == ceil_div(old.size, granule))
    return block;
  if (resize_managed(old, block, size)) return block;
  // Over-allocate a grown object by an eighth, and keep the reserve: each reallocation makes a new object.
  const bool is_object = old.owner == BlockOwner::object;
  if (is_object && size <= old.size && size > old.size / 4 * 3) return block;
  const auto more = is_object && size > old.size && size < SIZE_MAX / 2 ? size / 8 : 0;
  if (void* const grown = more > 0 ? grow_object(block, old.size, size + more) : nullptr) return grown;
  const auto* const next = next_allocator();
  void* moved = allocate_for_runtime(size);
  if (!moved) moved = allocate_managed(size + more, caller);
  if (!moved) moved = next ? next->malloc(size) : allocate_from_arena(size);
  if (!moved) return nullptr;
  move_block(block, old.size, moved, size);
  release_managed(old.owner, block);
  return moved;
}

// Implements aligned_alloc(3) and memalign(3), whose definition in the next allocator is `function`.
void* allocate_aligned(std::size_t alignment, std::size_t size, const void* caller,
                       void* (*NextAllocator::*function)(std::size_t, std::size_t)) {
  const auto* const next = next_allocator();
  if (!next) return allocate_from_arena(size, alignment);
  if (std::has_single_bit(alignment)) {
    if (void* const block = allocate_for_runtime(size, alignment)) return block;
    if (void* const block = allocate_managed(size, caller, alignment)) return block;
  }
  return (next->*function)(alignment, size);
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT void* malloc(size_t size) noexcept {
  if (void* const block = agent::allocate_for_runtime(size)) return block;
  if (void* const block = agent::allocate_managed(size, __builtin_return_address(0))) return block;
  const auto* const next = agent::next_allocator();
  return next ? next->malloc(size) : agent::allocate_from_arena(size);
}

TERRACE_EXPORT void* calloc(size_t count, size_t size) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return agent::no_memory();
  if (void* const block = agent::allocate_for_runtime(total)) return agent::zeroed(block, total);
  if (void* const block = agent::allocate_managed(total, __builtin_return_address(0), 1, true)) return block;
  const auto* const next = agent::next_allocator();
  return next ? next->calloc(count, size) : agent::zeroed(agent::allocate_from_arena(total), total);
}

TERRACE_EXPORT void free(void* block) noexcept {
  if (!block) return;
  if (const auto owner = agent::owner_of(block); owner != agent::BlockOwner::next) [[unlikely]] {
    if (agent::release_managed(owner, block)) return;
    agent::require_valid_block(owner, block, "free(): invalid pointer\n");
  }
  if (const auto* const next = agent::next_allocator()) next->free(block);
}

TERRACE_EXPORT void* realloc(void* block, size_t size) noexcept {
  if (!block) return malloc(size);
  const auto owner = agent::owner_of(block);
  agent::require_valid_block(owner, block, "realloc(): invalid pointer\n");
  const auto old = agent::find_managed(owner, block);
  const auto* const caller = __builtin_return_address(0);
  if (old.owner == agent::BlockOwner::next) return agent::reallocate_next(block, size, caller);
  if (size == 0) {
    free(block);
    return nullptr;
  }
  const bool is_small = owner == agent::BlockOwner::small_spilled || owner == agent::BlockOwner::small_ordered;
  return is_small ? agent::reallocate_small(old, block, size, caller)
                  : agent::reallocate_pages(old, block, size, caller);
}

TERRACE_EXPORT void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return agent::no_memory();
  return realloc(block, total);
}

TERRACE_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (std::has_single_bit(alignment) && alignment >= sizeof(void*)) {
    void* got = agent::allocate_for_runtime(size, alignment);
    if (!got) got = agent::allocate_managed(size, __builtin_return_address(0), alignment);
    if (got) {
      *block = got;
      return 0;
    }
  }
  const auto* const next = agent::next_allocator();
  if (next) return next->posix_memalign(block, alignment, size);
  *block = agent::allocate_from_arena(size, alignment);
  return *block ? 0 : ENOMEM;
}

TERRACE_EXPORT void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return agent::allocate_aligned(alignment, size, __builtin_return_address(0),
                                 &agent::NextAllocator::aligned_alloc);
}

TERRACE_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  return agent::allocate_aligned(alignment, size, __builtin_return_address(0), &agent::NextAllocator::memalign);
}

TERRACE_EXPORT void* valloc(size_t size) noexcept {
  if (void* const block = agent::allocate_managed(size, __builtin_return_address(0), terrace::k_page))
    return block;
  const auto* const next = agent::next_allocator();
  return next ? next->valloc(size) : agent::allocate_from_arena(size, terrace::k_page);
}

TERRACE_EXPORT void* pvalloc(size_t size) noexcept {
  if (void* const block =
          agent::allocate_managed(terrace::page_up(size), __builtin_return_address(0), terrace::k_page))
    return block;
  const auto* const next = agent::next_allocator();
  return next ? next->pvalloc(size) : agent::allocate_from_arena(size, terrace::k_page);
}

TERRACE_EXPORT size_t malloc_usable_size(void* block) noexcept {
  if (!block) return 0;
  const auto managed = agent::find_managed(agent::owner_of(block), block);
  if (managed.owner != agent::BlockOwner::next) return managed.size;
  const auto* const next = agent::next_allocator();
  return next ? next->malloc_usable_size(block) : 0;
}

}  // extern "C"
