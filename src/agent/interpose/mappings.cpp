// mmap and its sisters as the program calls them: private anonymous mappings that are big enough are objects.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>

#include "agent/heap/callers.hpp"
#include "agent/heap/object_registry.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"
#include "transfer/exchange/holding.hpp"

namespace terrace::agent {

namespace {

// Bare system calls: these run below allocators, where looking up another function might allocate.
void* map(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

Process* following() { return observe::t_thread.inside == 0 ? process() : nullptr; }

void forget(Process& here, void* address, std::size_t length) {
  const auto low = reinterpret_cast<std::uint64_t>(address);
  here.objects->remove(low, low + length);
}

void note(Process& here, void* address, std::size_t length) {
  const observe::OwnTime own;
  const observe::Inside inside;
  char name[k_name_room];
  const auto low = reinterpret_cast<std::uint64_t>(address);
  here.objects->add_whole(name_caller(here, name), observe::ObjectKind::mapping, low, length);
}

void* map_for_program(void* address, std::size_t length, int protection, int flags, int file, off_t offset) {
  void* const got = map(address, length, protection, flags, file, offset);
  Process* const here = following();
  if (!here || got == MAP_FAILED) return got;
  if ((flags & MAP_FIXED) != 0) forget(*here, got, length);  // what was there before is gone
  const bool private_memory = (flags & MAP_ANONYMOUS) != 0 && (flags & MAP_TYPE) == MAP_PRIVATE;
  // What is only reserved becomes an object when it is used.
  if (private_memory && (protection & PROT_WRITE) != 0 && length >= here->big_block &&
      (flags & (MAP_STACK | MAP_GROWSDOWN)) == 0)
    note(*here, got, length);
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
  if (auto* const here = agent::following()) agent::forget(*here, address, length);
  return static_cast<int>(syscall(SYS_munmap, address, length));
}

// What gives pages back while they are on their way would find none, and their content would come back. Terrace's
// own calls, which come here too, know what they do.
TERRACE_EXPORT int madvise(void* address, size_t length, int advice) noexcept {
  const bool gives_back = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
  if (!gives_back || terrace::observe::t_thread.inside > 0)
    return static_cast<int>(syscall(SYS_madvise, address, length, advice));
  if (const auto* const heap = agent::spilled_heap(); heap && heap->contains(address)) {
    if (advice == MADV_DONTNEED) agent::SpilledHeap::clear(address, length);
    return 0;
  }
  const auto low = reinterpret_cast<std::uint64_t>(address);
  terrace::transfer::hold_exchanges(low, low + length);
  const auto answer = static_cast<int>(syscall(SYS_madvise, address, length, advice));
  terrace::transfer::release_exchanges();
  return answer;
}

TERRACE_EXPORT void* mremap(void* address, size_t old_length, size_t length, int flags, ...) noexcept {
  void* to = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list more;
    va_start(more, flags);
    to = va_arg(more, void*);
    va_end(more);
  }
  terrace::transfer::hold_exchanges();
  auto* const got = reinterpret_cast<void*>(syscall(SYS_mremap, address, old_length, length, flags, to));
  terrace::transfer::release_exchanges();
  auto* const here = agent::following();
  if (!here || got == MAP_FAILED) return got;
  agent::forget(*here, address, old_length);
  agent::forget(*here, got, length);
  if (length >= here->big_block) agent::note(*here, got, length);
  return got;
}

}  // extern "C"
