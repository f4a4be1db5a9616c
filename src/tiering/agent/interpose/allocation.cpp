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

#include "agent/heap/libc_arena.hpp"
#include "agent/heap/object_registry.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/heap/spilled_small.hpp"
#include "agent/interpose/grown_blocks.hpp"
#include "agent/interpose/invalid_blocks.hpp"
#include "agent/interpose/spilled_blocks.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/linking/next.hpp"
#include "core/rounding.hpp"
#include "memory/arenas/block_arena.hpp"
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
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  auto* const spilled = size >= SpilledHeap::k_min ? start_spilled_heap(here) : nullptr;
  if (void* const block = spilled ? spilled->allocate(size, alignment, zeros) : nullptr) {
    apply_plan_preference(here, *spilled, block);
    errno = saved;
    return block;
  }
  void* const block = exceeds_memory(size) ? nullptr : here.regions->allocate(size, alignment);
  if (block) {
    char name[k_name_capacity];
    const auto low = reinterpret_cast<std::uint64_t>(block);
    here.objects->add_whole(name_caller(here, name), observe::ObjectKind::heap, low, size);
  }
  errno = saved;
  return block;
}

// Bytes of small blocks that a thread allocates before the run's default intent applies to them. For a process
// with few small blocks extents cost more than placement can save.
constexpr std::size_t k_small_at_first = std::size_t{16} << 20;

bool is_worth_placing(std::size_t size) {
  static constinit thread_local std::size_t at_first __attribute__((tls_model("initial-exec"))) = 0;
  if (size >= OrderedHeap::k_min || at_first >= k_small_at_first) return true;
  at_first += size;
  return false;
}

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
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  void* const block = allocate_by(*heap, size, alignment, intent, zeros);
  errno = saved;
  return block;
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

// Returns the ordering of a small block by intent, or -1.
int small_order(const void* block) {
  const auto* const heap = ordered_heap();
  return heap ? heap->small().order_of(block) : -1;
}

bool release_small(void* block) {
  const int order = small_order(block);
  if (order < 0 || !memory::BlockArena::is_block_start(block)) return false;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  SmallBlocks::release(order, block);
  errno = saved;
  return true;
}

bool is_small_spilled(const void* block) {
  const auto* const small = spilled_small();
  return small && small->contains(block);
}

bool is_ordered(const void* block) {
  const auto* const heap = ordered_heap();
  return heap && heap->contains(block) && (!heap->is_shut_down() || heap->size_of(block) > 0);
}

bool release_ordered(void* block) {
  if (!is_ordered(block)) return false;
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  const bool done = ordered_heap()->release(block);
  errno = saved;
  return done;
}

// Releases a block of any of Terrace's heaps. Returns false if the block is not from one.
bool release_big(void* block) {
  if (is_small_spilled(block) && memory::BlockArena::is_block_start(block)) {
    release_small_spilled(block);
    return true;
  }
  if (spilled_heap() && release_spilled(block)) return true;
  if (release_small(block)) return true;
  if (ordered_heap() && release_ordered(block)) return true;
  auto* const space = regions();
  if (!space || !space->contains(block)) [[likely]]
    return false;
  const auto found = space->find(block);
  if (found.address != reinterpret_cast<std::uint64_t>(block)) return false;
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const auto saved = errno;
  if (auto* const here = process()) {
    here->objects->remove(found.address, found.address + found.size);
    grow_big_block(*here, found.size);
    if (!here->simulated) raise_mmap_threshold(found.size);
  }
  space->release(block);
  errno = saved;
  return true;
}

std::size_t size_of_big(void* block) {
  if (is_small_spilled(block)) return SpilledSmall::size_of(block);
  if (is_spilled(block)) return spilled_heap()->size_of(block);
  if (small_order(block) >= 0) return SmallBlocks::size_of(block);
  if (is_ordered(block)) return ordered_heap()->size_of(block);
  auto* const space = regions();
  return space && space->contains(block) ? space->find(block).size : 0;
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

bool is_runtime_block(const void* block) { return g_libc_arena.contains(block); }

void* zeroed(void* block, std::size_t size) { return block ? std::memset(block, 0, size) : nullptr; }

void* move_block(void* from, std::size_t old_size, void* to, std::size_t size) {
  const observe::RuntimeScope inside;
  std::memcpy(to, from, std::min(old_size, size));
  return to;
}

// Reallocates a block of an arena: keeps it unless it grows or shrinks to below half its size.
template <class Allocate>
void* reallocate_in_arena(void* block, std::size_t size, Allocate&& allocate) {
  const auto old_size = memory::BlockArena::size_of(block);
  if (size <= old_size && size >= old_size / 2) return block;
  void* const moved = allocate();
  if (!moved) return size <= old_size ? block : no_memory();
  move_block(block, old_size, moved, size);
  release_big(block);
  return moved;
}

// Reallocates a small block by its own intent, not by the thread's present one.
void* reallocate_small(void* block, std::size_t size, int order) {
  return reallocate_in_arena(block, size, [&]() -> void* {
    if (ordered_heap()->is_shut_down()) return next_allocator()->malloc(size);
    const observe::RuntimeScope inside;
    return allocate_by(*ordered_heap(), size, 1, order, false);
  });
}

void* reallocate_small_spilled(void* block, std::size_t size, const void* caller) {
  return reallocate_in_arena(block, size, [&] {
    void* const moved = allocate_managed(size, caller);
    return moved ? moved : next_allocator()->malloc(size);
  });
}

// Implements realloc() for blocks of Terrace's heaps, and for those of the next allocator that outgrow it.
void* reallocate(void* block, std::size_t size, const void* caller) {
  if (is_small_spilled(block)) return reallocate_small_spilled(block, size, caller);
  if (const int order = small_order(block); order >= 0) return reallocate_small(block, size, order);
  const auto* const next = next_allocator();
  const bool was_runtime_block = is_runtime_block(block);
  const auto old_size = was_runtime_block ? LibcArena::size_of(block) : size_of_big(block);
  if (old_size == 0 && !was_runtime_block) {  // the next allocator's
    void* const moved = next ? allocate_managed(size, caller) : nullptr;
    if (!moved) return next ? next->realloc(block, size) : no_memory();
    move_block(block, next->malloc_usable_size(block), moved, size);
    next->free(block);
    return moved;
  }
  const auto granule = is_spilled(block) ? SpilledHeap::k_granule : k_page;
  if (!was_runtime_block && size >= k_page && ceil_div(size, granule) == ceil_div(old_size, granule)) return block;
  if (resize_spilled(block, old_size, size)) return block;
  // Over-allocate a grown object by an eighth, and keep the reserve: each reallocation makes a new object.
  const bool is_object = regions() && regions()->contains(block);
  if (is_object && size <= old_size && size > old_size / 4 * 3) return block;
  const auto more = is_object && size > old_size && size < SIZE_MAX / 2 ? size / 8 : 0;
  if (void* const grown = more > 0 ? grow_object(block, old_size, size + more) : nullptr) return grown;
  void* moved = allocate_for_runtime(size);
  if (!moved) moved = allocate_managed(size + more, caller);
  if (!moved) moved = next ? next->malloc(size) : allocate_from_arena(size);
  if (!moved) return nullptr;
  move_block(block, old_size, moved, size);
  if (was_runtime_block)
    g_libc_arena.release(block);
  else
    release_big(block);
  return moved;
}

void* allocate_aligned(std::size_t alignment, std::size_t size, const void* caller,
                       void* (*next)(std::size_t, std::size_t)) {
  if (std::has_single_bit(alignment)) {
    if (void* const block = allocate_for_runtime(size, alignment)) return block;
    if (void* const block = allocate_managed(size, caller, alignment)) return block;
  }
  return next(alignment, size);
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
  if (agent::is_runtime_block(block)) return agent::g_libc_arena.release(block);
  if (agent::release_big(block)) return;
  agent::require_valid_block(block, "free(): invalid pointer\n");
  if (const auto* const next = agent::next_allocator()) next->free(block);
}

TERRACE_EXPORT void* realloc(void* block, size_t size) noexcept {
  if (!block) return malloc(size);
  agent::require_valid_block(block, "realloc(): invalid pointer\n");
  if (size == 0 && (agent::is_runtime_block(block) || agent::size_of_big(block) > 0)) {
    free(block);
    return nullptr;
  }
  return agent::reallocate(block, size, __builtin_return_address(0));
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
  const auto* const next = agent::next_allocator();
  return next ? agent::allocate_aligned(alignment, size, __builtin_return_address(0), next->aligned_alloc)
              : agent::allocate_from_arena(size, alignment);
}

TERRACE_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  const auto* const next = agent::next_allocator();
  return next ? agent::allocate_aligned(alignment, size, __builtin_return_address(0), next->memalign)
              : agent::allocate_from_arena(size, alignment);
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
  if (agent::is_runtime_block(block)) return agent::LibcArena::size_of(block);
  if (const auto size = agent::size_of_big(block)) return size;
  const auto* const next = agent::next_allocator();
  return next ? next->malloc_usable_size(block) : 0;
}

}  // extern "C"
