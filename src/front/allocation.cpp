// The allocator's functions as the program calls them. Big blocks get pages of their own and are objects; small
// ones, and everything that Terrace itself causes, go on to the next allocator.
#include <malloc.h>
#include <stdlib.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "access/thread.hpp"
#include "access/time_samples.hpp"
#include "front/callers.hpp"
#include "front/guest.hpp"
#include "front/next.hpp"
#include "front/object_registry.hpp"
#include "front/process.hpp"
#include "memory/region_space.hpp"

namespace terrace::front {

namespace {

constexpr std::size_t k_page = 4096;

// The process, if a block of this size is to be an object.
Process* wants(std::size_t size) {
  Process* const here = process();
  return here && size >= here->big_block && access::t_thread.inside == 0 ? here : nullptr;
}

// A block of its own pages; nullptr when there is no room: the caller asks the next allocator. Leaves errno alone.
void* allocate_big(Process& here, std::size_t size, std::size_t alignment = 1) {
  const access::OwnTime own;
  const access::Inside inside;
  const auto saved = errno;
  void* const block = here.regions->allocate(size, alignment);
  if (block) {
    char name[k_name_room];
    const auto low = reinterpret_cast<std::uint64_t>(block);
    here.objects->add_whole(name_caller(here, name), profile::ObjectKind::heap, low, size);
  }
  errno = saved;
  return block;
}

// Whether it was one of ours, which then is free.
bool release_big(void* block) {
  auto* const space = regions();
  if (!space || !space->contains(block)) return false;
  const access::OwnTime own;
  const access::Inside inside;
  const auto saved = errno;
  if (auto* const here = process()) {
    const auto found = space->find(block);
    if (found.size > 0) here->objects->remove(found.address, found.address + found.size);
  }
  space->release(block);
  errno = saved;
  return true;
}

std::size_t size_of_big(void* block) {
  auto* const space = regions();
  return space && space->contains(block) ? space->find(block).size : 0;
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

// For allocation while the next allocator is being looked for.
void* from_arena(std::size_t size, std::size_t alignment = 16) {
  void* const block = arena_allocate(size, alignment);
  return block ? block : no_memory();
}

void* move_block(void* from, std::size_t old_size, void* to, std::size_t size) {
  const access::Inside inside;
  std::memcpy(to, from, std::min(old_size, size));
  return to;
}

// Other sizes for blocks that are ours, or shall be.
void* reallocate(void* block, std::size_t size) {
  const auto* const next = next_allocator();
  const bool from_startup = arena_contains(block);
  const auto old_size = from_startup ? arena_size(block) : size_of_big(block);
  auto* const here = wants(size);
  if (old_size == 0 && !from_startup) {  // the next allocator's
    if (!here) return next ? next->realloc(block, size) : no_memory();
    void* const moved = allocate_big(*here, size);
    if (!moved) return next->realloc(block, size);
    move_block(block, next->malloc_usable_size(block), moved, size);
    next->free(block);
    return moved;
  }
  const auto pages = [](std::size_t bytes) { return (bytes + k_page - 1) / k_page; };
  if (!from_startup && size >= k_page && pages(size) == pages(old_size)) return block;
  void* moved = here ? allocate_big(*here, size) : nullptr;
  if (!moved) moved = next ? next->malloc(size) : from_arena(size);
  if (!moved) return nullptr;
  move_block(block, old_size, moved, size);
  if (!from_startup) release_big(block);
  return moved;
}

void* allocate_aligned(std::size_t alignment, std::size_t size, void* (*next)(std::size_t, std::size_t)) {
  if (auto* const here = wants(size); here && std::has_single_bit(alignment))
    if (void* const block = allocate_big(*here, size, alignment)) return block;
  return next(alignment, size);
}

}  // namespace

}  // namespace terrace::front

namespace front = terrace::front;

extern "C" {

TERRACE_EXPORT void* malloc(size_t size) noexcept {
  if (auto* const here = front::wants(size))
    if (void* const block = front::allocate_big(*here, size)) return block;
  const auto* const next = front::next_allocator();
  return next ? next->malloc(size) : front::from_arena(size);
}

TERRACE_EXPORT void* calloc(size_t count, size_t size) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return front::no_memory();
  if (auto* const here = front::wants(total))
    if (void* const block = front::allocate_big(*here, total)) return block;  // pages of the system's are zero
  const auto* const next = front::next_allocator();
  return next ? next->calloc(count, size) : front::from_arena(total);  // the arena is zero, and used once
}

TERRACE_EXPORT void free(void* block) noexcept {
  if (!block || front::arena_contains(block) || front::release_big(block)) return;
  if (const auto* const next = front::next_allocator()) next->free(block);
}

TERRACE_EXPORT void* realloc(void* block, size_t size) noexcept {
  if (!block) return malloc(size);
  if (size == 0 && (front::arena_contains(block) || front::size_of_big(block) > 0)) {
    free(block);
    return nullptr;
  }
  return front::reallocate(block, size);
}

TERRACE_EXPORT void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size, &total)) return front::no_memory();
  return realloc(block, total);
}

TERRACE_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (auto* const here = front::wants(size); here && std::has_single_bit(alignment) && alignment >= sizeof(void*))
    if (void* const got = front::allocate_big(*here, size, alignment)) {
      *block = got;
      return 0;
    }
  const auto* const next = front::next_allocator();
  if (next) return next->posix_memalign(block, alignment, size);
  *block = front::arena_allocate(size, alignment);
  return *block ? 0 : ENOMEM;
}

TERRACE_EXPORT void* aligned_alloc(size_t alignment, size_t size) noexcept {
  const auto* const next = front::next_allocator();
  return next ? front::allocate_aligned(alignment, size, next->aligned_alloc) : front::from_arena(size, alignment);
}

TERRACE_EXPORT void* memalign(size_t alignment, size_t size) noexcept {
  const auto* const next = front::next_allocator();
  return next ? front::allocate_aligned(alignment, size, next->memalign) : front::from_arena(size, alignment);
}

TERRACE_EXPORT void* valloc(size_t size) noexcept {
  if (auto* const here = front::wants(size))
    if (void* const block = front::allocate_big(*here, size)) return block;
  const auto* const next = front::next_allocator();
  return next ? next->valloc(size) : front::from_arena(size, front::k_page);
}

TERRACE_EXPORT void* pvalloc(size_t size) noexcept {
  if (auto* const here = front::wants(size))
    if (void* const block = front::allocate_big(*here, size)) return block;
  const auto* const next = front::next_allocator();
  return next ? next->pvalloc(size) : front::from_arena(size, front::k_page);
}

TERRACE_EXPORT size_t malloc_usable_size(void* block) noexcept {
  if (!block) return 0;
  if (front::arena_contains(block)) return front::arena_size(block);
  if (const auto size = front::size_of_big(block)) return size;
  const auto* const next = front::next_allocator();
  return next ? next->malloc_usable_size(block) : 0;
}

}  // extern "C"
