// SPDX-License-Identifier: Apache-2.0
// Interposes mmap(2), munmap(2), madvise(2), mprotect(2) and mremap(2). Large private anonymous mappings become
// objects, or spilled memory.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "agent/heap/object_registry.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/interpose/shared_mappings.hpp"
#include "agent/lifecycle/callers.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/errno_scope.hpp"
#include "core/rounding.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"
#include "transfer/exchange/exchange_lock.hpp"

namespace terrace::agent {

namespace {

// Bare system call: runs below allocators, where resolving a function might allocate.
void* map(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

Process* observed_process() { return observe::t_thread.inside == 0 ? process() : nullptr; }

// Returns the spilled heap if the range overlaps it. Returns null for Terrace's own calls.
SpilledHeap* spilled_heap_at(const void* address, std::size_t length) {
  auto* const heap = spilled_heap();
  return heap && observe::t_thread.inside == 0 && heap->overlaps(address, length) && heap->is_owner_process()
             ? heap
             : nullptr;
}

void forget_object(Process& here, void* address, std::size_t length) {
  const auto low = reinterpret_cast<std::uint64_t>(address);
  here.objects->remove(low, low + length);
}

// Registers a mapping as an object, named by its call site.
void note_object(Process& here, void* address, std::size_t length) {
  const observe::AgentScope scope;
  char name[k_name_capacity];
  const auto low = reinterpret_cast<std::uint64_t>(address);
  here.objects->add_whole(name_caller(here, name), observe::ObjectKind::mapping, low, length);
}

// Returns the ordered heap if terrace_apply() may have placed some of the range.
OrderedHeap* ordered_heap_at(const void* address, std::size_t length) {
  auto* const heap = ordered_heap();
  const auto low = reinterpret_cast<std::uint64_t>(address);
  return heap && observe::t_thread.inside == 0 && heap->may_have_applied(low, page_up(length)) ? heap : nullptr;
}

// Removes placed parts of a range that was unmapped or mapped over.
void forget_intent(const void* address, std::size_t length) {
  auto* const heap = ordered_heap_at(address, length);
  if (!heap) return;
  const observe::AgentScope scope;
  heap->on_unmapped(reinterpret_cast<std::uint64_t>(address), page_up(length));
}

// Implements mremap(2); the record of placed parts moves with the range.
void* remap(void* address, std::size_t old_length, std::size_t length, int flags, void* to) {
  auto* const heap = ordered_heap_at(address, old_length);
  const auto low = reinterpret_cast<std::uint64_t>(address);
  OrderedHeap::Ranges ranges;
  if (heap) {
    const observe::RuntimeScope inside;
    ranges = heap->detach_ranges(low, page_up(old_length));
  }
  transfer::suspend_exchanges();
  void* const got = reinterpret_cast<void*>(syscall(SYS_mremap, address, old_length, length, flags, to));
  transfer::resume_exchanges();
  const ErrnoScope errno_scope;
  if (got != MAP_FAILED) forget_intent(got, length);  // previous contents are unmapped
  if (heap) {
    const observe::RuntimeScope inside;
    if (got == MAP_FAILED)
      heap->reattach_ranges(ranges, low, low, page_up(old_length));
    else
      heap->reattach_ranges(ranges, low, reinterpret_cast<std::uint64_t>(got), page_up(length));
    ranges = {};
  }
  return got;
}

// Implements mmap(2) for the program: over spilled memory, as spilled memory, as an object, or as the kernel does.
void* map_for_program(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_FIXED) != 0)
    if (auto* const heap = spilled_heap_at(address, length)) {
      const auto call = [&] { return heap->map_over(address, length, protection, flags, file, offset); };
      const bool mapped = observe::call_inside(call) == 0;
      if (mapped) forget_intent(address, length);
      return mapped ? address : MAP_FAILED;
    }
  const bool is_data =
      (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_TYPE) == MAP_PRIVATE && (protection & PROT_WRITE) != 0;
  Process* const here = is_data && observe::t_thread.inside == 0 ? ensure_started_for(length) : observed_process();
  if (here && here->make_spilled && SpilledHeap::accepts_mapping(length, protection, flags)) {
    const observe::AgentScope scope;
    auto* const spilled = start_spilled_heap(*here);
    void* const taken = spilled ? spilled->map(length) : nullptr;
    if (taken) apply_plan_preference(*here, *spilled, taken);
    if (taken) return taken;
  }
  void* const got = map(address, length, protection, flags, file, offset);
  if (got != MAP_FAILED) forget_intent(got, length);
  if (!here || got == MAP_FAILED) return got;
  if ((flags & MAP_FIXED) != 0) forget_object(*here, got, length);  // previous contents are unmapped
  // Reservations (no write access) become objects when they are used.
  if (is_data && length >= here->big_block && (flags & (MAP_STACK | MAP_GROWSDOWN)) == 0)
    note_object(*here, got, length);
  if (here->shared_mappings && file >= 0 && offset == 0 && (flags & MAP_TYPE) != MAP_PRIVATE) {
    const ErrnoScope errno_scope;
    here->shared_mappings->on_mapped(got, length, file);
  }
  return got;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT void* mmap(void* address, size_t length, int protection, int flags, int file,
                          off_t offset) noexcept {
  return agent::map_for_program(address, length, protection, flags, file, offset);
}

TERRACE_EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int file,
                            off64_t offset) noexcept {
  return agent::map_for_program(address, length, protection, flags, file, offset);
}

TERRACE_EXPORT int munmap(void* address, size_t length) noexcept {
  if (reinterpret_cast<std::uint64_t>(address) % terrace::k_page == 0) agent::forget_intent(address, length);
  if (auto* const heap = agent::spilled_heap_at(address, length))
    return terrace::observe::call_inside([&] { return heap->unmap(address, length); });
  auto* const here = agent::observed_process();
  if (here) agent::forget_object(*here, address, length);
  if (here && here->shared_mappings) here->shared_mappings->on_unmapped(address, length);
  return static_cast<int>(syscall(SYS_munmap, address, length));
}

// Discarding pages during their migration would find none, and the migration would restore their contents. So
// exchanges of the range are held meanwhile. Terrace's own calls pass unchanged.
TERRACE_EXPORT int madvise(void* address, size_t length, int advice) noexcept {
  if (auto* const heap = agent::spilled_heap_at(address, length))
    return terrace::observe::call_inside([&] { return heap->advise(address, length, advice); });
  const bool gives_back = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
  if (!gives_back || terrace::observe::t_thread.inside > 0)
    return static_cast<int>(syscall(SYS_madvise, address, length, advice));
  const auto low = reinterpret_cast<std::uint64_t>(address);
  terrace::transfer::suspend_exchanges(low, low + length);
  const auto answer = static_cast<int>(syscall(SYS_madvise, address, length, advice));
  terrace::transfer::resume_exchanges();
  return answer;
}

// Interposed separately: the C library's function does not call madvise().
TERRACE_EXPORT int posix_madvise(void* address, size_t length, int advice) noexcept {
  if (advice == POSIX_MADV_DONTNEED)
    return 0;  // the C library ignores it, because Linux's MADV_DONTNEED is destructive
  const terrace::ErrnoScope errno_scope;
  return madvise(address, length, advice) == 0 ? 0 : errno;
}

TERRACE_EXPORT int mprotect(void* address, size_t length, int protection) noexcept {
  if (auto* const heap = agent::spilled_heap_at(address, length))
    return terrace::observe::call_inside([&] { return heap->protect(address, length, protection); });
  return static_cast<int>(syscall(SYS_mprotect, address, length, protection));
}

TERRACE_EXPORT void* mremap(void* address, size_t old_length, size_t length, int flags, ...) noexcept {
  void* to = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list more;
    va_start(more, flags);
    to = va_arg(more, void*);
    va_end(more);
  }
  if (auto* const heap = agent::spilled_heap_at(address, 1)) {
    const auto call = [&] { return heap->remap(address, old_length, length, flags); };
    return terrace::observe::call_inside(call) == 0 ? address : MAP_FAILED;
  }
  if ((flags & MREMAP_FIXED) != 0)
    if (auto* const heap = agent::spilled_heap_at(to, length)) {
      const auto call = [&] { return heap->remap_over(address, old_length, length, flags, to); };
      return terrace::observe::call_inside(call) == 0 ? to : MAP_FAILED;
    }
  void* const got = agent::remap(address, old_length, length, flags, to);
  auto* const here = agent::observed_process();
  if (!here || got == MAP_FAILED) return got;
  agent::forget_object(*here, address, old_length);
  agent::forget_object(*here, got, length);
  if (length >= here->big_block) agent::note_object(*here, got, length);
  return got;
}

}  // extern "C"
