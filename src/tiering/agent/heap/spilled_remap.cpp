// SPDX-License-Identifier: Apache-2.0
// Emulates mremap(2) on spilled (out-of-core) memory, for interpose/mappings.cpp: extends a mapping in place, or
// moves its contents. See spilled_heap.hpp.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "agent/heap/spilled_calls.hpp"
#include "agent/heap/spilled_heap.hpp"
#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

// Copies chunk by chunk through a resident bounce buffer. A direct copy alternates between two chunks, which
// would evict each other repeatedly if memory is scarce.
void copy(std::uint64_t to, std::uint64_t from, std::size_t size) noexcept {
  constexpr std::size_t k_step = SpilledHeap::k_granule;
  const auto between = syscall(SYS_mmap, nullptr, k_step, k_read_write, k_anonymous | MAP_NORESERVE, -1, 0L);
  if (between == -1) {
    std::memcpy(pointer(to), pointer(from), size);
    return;
  }
  for (std::size_t done = 0; done < size; done += k_step) {
    const auto piece = std::min(k_step, size - done);
    std::memcpy(pointer(static_cast<std::uint64_t>(between)), pointer(from + done), piece);
    std::memcpy(pointer(to + done), pointer(static_cast<std::uint64_t>(between)), piece);
  }
  ask(SYS_munmap, between, k_step);
}

}  // namespace

int SpilledHeap::remap_over(void* address, std::size_t old_length, std::size_t length, int flags,
                            void* to) noexcept {
  const auto start = number(to);
  if (start % k_page != 0 || length == 0 || (flags & MREMAP_MAYMOVE) == 0) return EINVAL;
  try {
    const std::lock_guard guard(mutex_);
    const auto span = clip(start, start + length);
    if (!claim_free(span)) return ENOMEM;
    hand_over(span);
    const int error = ask(SYS_mremap, address, old_length, length, flags, to);
    if (error == 0) set_mapping(span, k_read_write, Kind::foreign);
    return error;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// Extends a mapping in place. Returns false if the addresses behind it are in use.
bool SpilledHeap::grow_in_place(Span old, std::uint64_t end, int protection) {
  const auto behind = align_up(old.end, k_granule);
  if (handed_over_.contains(behind - k_granule) || ranges_.overlaps(old.end, end)) return false;
  if (end > behind) {
    const auto more = align_up(end, k_granule) - behind;
    if (!claim(behind, more)) return false;
  }
  const Span rest{old.end, std::min(end, behind)};  // of the last chunk; may contain old data
  if (!rest.is_empty()) ask(SYS_mprotect, rest.start, rest.end - rest.start, k_read_write);
  ranges_.set({old.end, end, Kind::mapping, k_read_write});
  clear(rest);
  set_rights({old.end, end}, protection);
  return true;
}

// Moves the contents to a new, larger mapping, and sets `address` to it.
int SpilledHeap::move_mapping(void*& address, Span old, std::size_t length, int protection) {
  void* to = map(length);
  const bool ours = to != nullptr;
  if (!ours) {
    const auto got = syscall(SYS_mmap, nullptr, length, k_read_write, k_anonymous | MAP_NORESERVE, -1, 0L);
    if (got == -1) return errno;
    to = pointer(static_cast<std::uint64_t>(got));
  }
  const auto size = old.end - old.start;
  if ((protection & PROT_READ) == 0) ask(SYS_mprotect, old.start, size, PROT_READ);
  copy(number(to), old.start, size);
  const std::lock_guard guard(mutex_);
  if (ours)
    set_rights({number(to), number(to) + page_up(length)}, protection);
  else if (protection != k_read_write)
    ask(SYS_mprotect, to, length, protection);
  unmap_now(old);
  address = to;
  return 0;
}

int SpilledHeap::remap(void*& address, std::size_t old_length, std::size_t length, int flags) noexcept {
  const auto start = number(address);
  constexpr int k_known = MREMAP_MAYMOVE | MREMAP_FIXED;  // EINVAL for others, as from a kernel without them
  if (start % k_page != 0 || old_length == 0 || length == 0 || (flags & ~k_known) != 0) return EINVAL;
  if ((flags & MREMAP_FIXED) != 0) return (flags & MREMAP_MAYMOVE) != 0 ? ENOMEM : EINVAL;
  const Span old{start, page_up(start + old_length)};
  const auto end = page_up(start + length);
  if (end < start) return ENOMEM;
  int protection = 0;
  try {
    {
      const std::lock_guard guard(mutex_);
      const auto parts = ranges_.within(old.start, old.end);
      if (!MappedRanges::is_covered(parts, old.start, old.end)) return EFAULT;
      const auto sort = [](const auto& part) { return part.kind == Kind::unmanaged ? Kind::mapping : part.kind; };
      const bool alike = std::ranges::all_of(parts, [&](const auto& part) {
        return sort(part) == sort(parts.front()) && part.protection == parts.front().protection;
      });
      if (!alike || parts.front().kind == Kind::block) return EFAULT;
      if (end < old.end) unmap_now({end, old.end});
      if (end <= old.end) return 0;
      protection = parts.front().protection;
      if (sort(parts.front()) != Kind::mapping) return ENOMEM;  // mremap(2) would move it and leave a hole here
      if (grow_in_place(old, end, protection)) return 0;
    }
    return (flags & MREMAP_MAYMOVE) != 0 ? move_mapping(address, old, length, protection) : ENOMEM;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace terrace::agent
