// SPDX-License-Identifier: Apache-2.0
// Emulates mmap(2), munmap(2), madvise(2) and mprotect(2) on spilled (out-of-core) memory, for
// interpose/mappings.cpp. Chunks are the engine's units, in memory or in the file. See
// spilled_heap.hpp; mremap(2) is in spilled_remap.cpp.
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

constexpr int k_indifferent = MAP_NORESERVE | MAP_POPULATE | MAP_NONBLOCK | MAP_DENYWRITE | MAP_EXECUTABLE;

// Advice that older headers lack, and advice that is only a hint.
constexpr int k_populate_read = 22, k_populate_write = 23;
constexpr int k_do_not_need_locked = 24;
constexpr int k_hints[] = {MADV_NORMAL,         MADV_RANDOM,     MADV_SEQUENTIAL,  MADV_WILLNEED,
                           MADV_DONTFORK,       MADV_DOFORK,     MADV_MERGEABLE,   MADV_UNMERGEABLE,
                           MADV_HUGEPAGE,       MADV_NOHUGEPAGE, MADV_DONTDUMP,    MADV_DODUMP,
                           19 /* KEEPONFORK */, 20 /* COLD */,   21 /* PAGEOUT */, 25 /* COLLAPSE */};

}  // namespace

bool SpilledHeap::accepts_mapping(std::size_t length, int protection, int flags) noexcept {
  return length >= k_min && protection == k_read_write && (flags & ~k_indifferent) == k_anonymous;
}

// Returns the chunks that contain nothing of the program outside the range.
SpilledHeap::Span SpilledHeap::whole_chunks(Span span) const noexcept {
  const auto below = align_down(span.start, k_granule);
  const auto above = align_up(span.end, k_granule);
  return {ranges_.overlaps(below, span.start) ? align_up(span.start, k_granule) : below,
          ranges_.overlaps(span.end, above) ? align_down(span.end, k_granule) : above};
}

// Calls `body(span, is_handed_over)` for each run of chunks of equal state. Stops at an error and returns it.
template <class Body>
int SpilledHeap::for_each_run(Span span, Body&& body) {
  while (!span.is_empty()) {
    const bool is_handed_over = handed_over_.contains(align_down(span.start, k_granule));
    auto end = align_down(span.start, k_granule) + k_granule;
    while (end < span.end && handed_over_.contains(end) == is_handed_over) end += k_granule;
    end = std::min(end, span.end);
    if (const int error = body(Span{span.start, end}, is_handed_over); error != 0) return error;
    span.start = end;
  }
  return 0;
}

// Calls `body` for the parts of the range outside the heap, which the kernel serves.
template <class Body>
int SpilledHeap::for_parts_outside(Span span, Body&& body) const {
  const auto ours = clip(span.start, span.end);
  for (const auto& part : {Span{span.start, ours.start}, Span{ours.end, span.end}})
    if (!part.is_empty())
      if (const int error = body(part.start, part.end - part.start); error != 0) return error;
  return 0;
}

void SpilledHeap::apply_rights(Span span) {
  for (const auto& part : ranges_.within(span.start, span.end))
    if (part.is_managed() && part.protection != k_read_write)
      ask(SYS_mprotect, part.start, part.end - part.start, part.protection);
}

// Sets a protection. Requires: the range is managed and has the default protection.
void SpilledHeap::set_rights(Span span, int protection) {
  if (protection == k_read_write || span.is_empty()) return;
  protects_ = true;
  const auto first = align_down(span.start, k_granule);
  spill_->change_protection(first, align_up(span.end, k_granule) - first, false);
  ranges_.protect(span.start, span.end, protection);
  apply_rights(span);
}

// Zeroes the range by writing, because the rest of the chunk is in use.
void SpilledHeap::clear(Span span) {
  for (const auto& part : ranges_.within(span.start, span.end)) {
    if (!part.is_managed()) continue;
    const auto size = part.end - part.start;
    const bool usual = (part.protection & k_read_write) == k_read_write;
    if (!usual) ask(SYS_mprotect, part.start, size, k_read_write);
    std::memset(pointer(part.start), 0, size);
    if (!usual) ask(SYS_mprotect, part.start, size, part.protection);
  }
}

// Makes the range read as zeros: discards whole chunks, and overwrites parts of chunks.
void SpilledHeap::make_zero(Span span) {
  const auto whole = whole_chunks(span);
  if (whole.is_empty()) return clear(span);
  for_each_run(whole, [&](Span part, bool is_handed_over) {
    if (is_handed_over) return clear(part), 0;
    spill_->discard(part.start, part.end - part.start);
    apply_rights(part);
    return 0;
  });
  if (span.start < whole.start) clear({span.start, whole.start});
  if (whole.end < span.end) clear({whole.end, span.end});
}

// Ends the engine's management of the range's chunks, so that the program may map anything there, and discards the
// range. Data outside the range stays.
void SpilledHeap::hand_over(Span span) {
  for_each_run(whole_chunks(span), [&](Span part, bool is_handed_over) {
    if (!is_handed_over) spill_->discard(part.start, part.end - part.start);
    return 0;
  });
  hand_over_with_content(span);
}

// Ends the engine's management of the range's chunks, which keep their contents and stay resident. Called when
// the program unmaps or replaces the range, and when a device's driver pins it.
void SpilledHeap::hand_over_with_content(Span span) {
  protects_ = true;
  for_each_run({align_down(span.start, k_granule), align_up(span.end, k_granule)},
               [&](Span part, bool is_handed_over) {
                 if (is_handed_over) return 0;
                 for (auto chunk = part.start; chunk < part.end; chunk += k_granule) handed_over_.insert(chunk);
                 spill_->unmanage(part.start, part.end - part.start);
                 apply_rights(part);
                 return 0;
               });
}

// Records what the program has mapped in the range. Parts inside a block stay marked as such until free(3).
void SpilledHeap::set_mapping(Span span, int protection, Kind kind) {
  const auto before = ranges_.within(span.start, span.end);
  ranges_.set({span.start, span.end, kind, protection});
  for (const auto& part : before)
    if (part.kind == Kind::block || part.kind == Kind::foreign_in_block)
      ranges_.set(
          {part.start, part.end, kind == Kind::mapping ? Kind::block : Kind::foreign_in_block, protection});
}

void* SpilledHeap::map(std::size_t length) noexcept {
  return allocate_chunks(length, 1, Kind::mapping, page_up(length));
}

// Unmaps a range within the heap, and releases the chunks that are then empty. Requires: mutex_ is held.
void SpilledHeap::unmap_now(Span span) {
  for (const auto& part : ranges_.within(span.start, span.end)) {
    if (part.kind == Kind::block) continue;  // released by free()
    // Keep an inaccessible mapping there: the kernel would reuse a hole for unrelated mappings.
    if (!part.is_managed())
      ask(SYS_mmap, part.start, part.end - part.start, PROT_NONE, k_anonymous | MAP_NORESERVE | MAP_FIXED, -1, 0L);
    if (part.kind != Kind::foreign_in_block) ranges_.remove(part.start, part.end);
  }
  release_empty_chunks(span);
}

int SpilledHeap::unmap(void* address, std::size_t length) noexcept {
  const Span all{number(address), page_up(number(address) + length)};
  if (all.start % k_page != 0 || length == 0) return EINVAL;
  try {
    const std::lock_guard guard(mutex_);
    const int error = for_parts_outside(
        all, [](std::uint64_t start, std::uint64_t size) { return ask(SYS_munmap, start, size); });
    if (error != 0) return error;
    unmap_now(clip(all.start, all.end));
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int SpilledHeap::protect(void* address, std::size_t length, int protection) noexcept {
  const Span all{number(address), page_up(number(address) + length)};
  if (all.start % k_page != 0) return EINVAL;
  try {
    const std::lock_guard guard(mutex_);
    const auto span = clip(all.start, all.end);
    const auto parts = ranges_.within(span.start, span.end);
    if (!MappedRanges::is_covered(parts, span.start, span.end)) return ENOMEM;
    const auto first = align_down(span.start, k_granule);
    const auto size = align_up(span.end, k_granule) - first;
    if (protection != k_read_write) spill_->change_protection(first, size, false);
    protects_ = protects_ || protection != k_read_write;
    if (const int error = ask(SYS_mprotect, all.start, length, protection); error != 0) return error;
    ranges_.protect(span.start, span.end, protection);
    if (std::ranges::any_of(parts, [](const auto& part) { return part.protection != k_read_write; }))
      report_default_rights(span);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// Implements advise() for a range within the heap. Requires: mutex_ is held.
int SpilledHeap::advise_now(Span span, int advice) {
  const bool gives_back = advice == MADV_DONTNEED || advice == k_do_not_need_locked || advice == MADV_FREE;
  const bool is_hint = std::ranges::find(k_hints, advice) != std::end(k_hints);
  const auto parts = ranges_.within(span.start, span.end);
  for (const auto& part : parts) {
    if (!part.is_managed()) {
      if (const int error = ask(SYS_madvise, part.start, part.end - part.start, advice); error != 0) return error;
      continue;
    }
    if (is_hint) continue;
    if (!gives_back) return EINVAL;
    Span zeros{part.start, part.end};
    auto whole = whole_chunks(zeros);
    if (advice == MADV_FREE)  // MADV_FREE permits partial chunks to keep their contents
      zeros = whole = {std::max(whole.start, part.start), std::min(whole.end, part.end)};
    if (zeros.is_empty()) continue;
    // The kernel refuses it for locked memory.
    const int how = advice == MADV_FREE ? MADV_DONTNEED : advice;
    if (!whole.is_empty())
      if (const int error = ask(SYS_madvise, whole.start, whole.end - whole.start, how); error != 0) return error;
    make_zero(zeros);
  }
  return MappedRanges::is_covered(parts, span.start, span.end) ? 0 : ENOMEM;
}

int SpilledHeap::advise(void* address, std::size_t length, int advice) noexcept {
  const Span all{number(address), page_up(number(address) + length)};
  const auto kernel = [&](std::uint64_t start, std::uint64_t size) {
    return ask(SYS_madvise, start, size, advice);
  };
  if (all.start % k_page != 0) return EINVAL;
  if (advice == k_populate_read || advice == k_populate_write) return kernel(all.start, length);  // as by touching
  try {
    const std::lock_guard guard(mutex_);
    if (const int error = for_parts_outside(all, kernel); error != 0) return error;
    return advise_now(clip(all.start, all.end), advice);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// Maps fresh anonymous memory over the range (MAP_FIXED). Requires: mutex_ is held.
int SpilledHeap::map_zeros_over(Span span, int protection) {
  if (!claim_free(span)) return ENOMEM;
  if (locks_.load(std::memory_order_relaxed)) ask(SYS_munlock, span.start, span.end - span.start);
  protects_ = true;
  return for_each_run(span, [&](Span part, bool is_handed_over) {
    const auto size = part.end - part.start;
    if (is_handed_over) {
      const int error =
          ask(SYS_mmap, part.start, size, protection, k_anonymous | MAP_NORESERVE | MAP_FIXED, -1, 0L);
      if (error == 0) set_mapping(part, protection, Kind::unmanaged);
      return error;
    }
    if (const int error = ask(SYS_mprotect, part.start, size, k_read_write); error != 0) return error;
    set_mapping(part, k_read_write, Kind::mapping);
    make_zero(part);
    set_rights(part, protection);
    report_default_rights(part);
    return 0;
  });
}

int SpilledHeap::map_over(void* address, std::size_t length, int protection, int flags, int file,
                          off_t offset) noexcept {
  const Span all{number(address), page_up(number(address) + length)};
  if (all.start % k_page != 0 || length == 0) return EINVAL;
  try {
    const auto span = clip(all.start, all.end);
    const bool inside = span.start == all.start && span.end == all.end;
    if (inside && (flags & ~k_indifferent) == (k_anonymous | MAP_FIXED)) {
      const std::lock_guard guard(mutex_);
      return map_zeros_over(span, protection);
    }
    // Map elsewhere first and then move, so that a failure has no effect.
    const auto made = syscall(SYS_mmap, nullptr, length, protection, flags & ~MAP_FIXED, file, offset);
    if (made == -1) return errno;
    const std::lock_guard guard(mutex_);
    int error = claim_free(span) ? 0 : ENOMEM;
    if (error == 0) {
      hand_over(span);
      error = ask(SYS_mremap, made, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, all.start);
    }
    if (error == 0)
      set_mapping(span, protection, Kind::foreign);
    else
      ask(SYS_munmap, made, length);
    return error;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

}  // namespace terrace::agent
