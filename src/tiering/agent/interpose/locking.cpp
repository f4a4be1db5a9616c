// SPDX-License-Identifier: Apache-2.0
// Interposes mlock(2) and mlockall(2) of the program, so that they do not touch Terrace's own ranges.
//
// The kernel's mlockall() touches all mappings, and blocks forever on a range that is registered with userfaultfd
// but whose faults no thread serves: Terrace's slots for pages in migration. So the program's mappings are locked
// one by one, without Terrace's registered ranges. Spilled memory is among these, and is not locked.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "agent/heap/ordered_heap.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/maps_reader.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"
#include "transfer/exchange/exchange_lock.hpp"

namespace terrace::agent {

namespace {

constexpr int k_on_fault = 4;            // MCL_ONFAULT, missing in older headers
constexpr unsigned k_lock_on_fault = 1;  // MLOCK_ONFAULT
constexpr int k_known_flags = MCL_CURRENT | MCL_FUTURE | k_on_fault;

struct MappedPart {
  std::uint64_t low = 0, high = 0;
};

// Returns readable mappings that are unregistered with userfaultfd, or whose faults are served. Throws
// std::bad_alloc.
std::vector<MappedPart> mappings_to_lock() {
  std::vector<MappedPart> parts;
  MapsReader reader("/proc/self/smaps");
  char line[512];
  MappedPart part;
  bool is_usable = false;
  while (reader.read_line(line, sizeof line)) {
    if (const char* at = line; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')) {
      part.low = read_hexadecimal(at);
      if (*at == '-') ++at;
      part.high = read_hexadecimal(at);
      is_usable = std::strncmp(at, " ---", 4) != 0 && part.high >> 63 == 0;  // not [vsyscall]
    } else if (std::strncmp(line, "VmFlags:", 8) == 0) {
      const auto* const heap = ordered_heap();
      const auto* const begin = reinterpret_cast<const void*>(part.low);  // NOLINT(performance-no-int-to-ptr)
      const bool is_watched = std::strstr(line, " um") != nullptr;
      if (is_usable && (!is_watched || (heap && heap->contains(begin)))) parts.push_back(part);
    }
  }
  return parts;
}

// Locks the present mappings. Returns 0 or an errno value; at an error some may be locked.
int lock_current(bool on_fault) {
  std::vector<MappedPart> parts;
  try {
    // Detached pages are registered only until their exchange ends.
    transfer::suspend_exchanges();
    parts = mappings_to_lock();
    transfer::resume_exchanges();
  } catch (const std::bad_alloc&) {
    transfer::resume_exchanges();
    return ENOMEM;
  }
  for (const auto& [low, high] : parts) {
    if (syscall(SYS_mlock2, low, high - low, k_lock_on_fault) != 0) return errno;
    if (!on_fault) syscall(SYS_mlock, low, high - low);  // ignores ranges without pages, as mlockall() does
  }
  return 0;
}

// Implements mlockall(). Later mappings are locked on fault, because Terrace reserves much untouched memory.
int lock_all(int flags) {
  if ((flags & MCL_CURRENT) != 0)
    if (const int error = lock_current((flags & k_on_fault) != 0); error != 0) return error;
  if ((flags & MCL_FUTURE) == 0) return 0;
  return syscall(SYS_mlockall, MCL_FUTURE | k_on_fault) == 0 ? 0 : errno;
}

void note_locked(const void* address, std::size_t length) {
  if (auto* const heap = spilled_heap(); heap && heap->overlaps(address, length)) heap->note_locked();
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

TERRACE_EXPORT int mlock(const void* address, size_t length) noexcept {
  agent::note_locked(address, length);
  return static_cast<int>(syscall(SYS_mlock, address, length));
}

TERRACE_EXPORT int mlock2(const void* address, size_t length, unsigned flags) noexcept {
  agent::note_locked(address, length);
  return static_cast<int>(syscall(SYS_mlock2, address, length, flags));
}

TERRACE_EXPORT int mlockall(int flags) noexcept {
  const bool is_valid = (flags & (MCL_CURRENT | MCL_FUTURE)) != 0 && (flags & ~agent::k_known_flags) == 0;
  if (!is_valid || terrace::observe::t_thread.inside > 0 || !agent::process())
    return static_cast<int>(syscall(SYS_mlockall, flags));
  return terrace::observe::call_inside([&] { return agent::lock_all(flags); });
}

}  // extern "C"
