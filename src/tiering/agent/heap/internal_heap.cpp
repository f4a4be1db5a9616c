// SPDX-License-Identifier: Apache-2.0
// Allocates Terrace's own memory in the user's process: size classes over slabs, and large blocks by mappings.
// operator new calls it (interpose/operator_new.cpp). See internal_heap.hpp.
#include "agent/heap/internal_heap.hpp"

#include <linux/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>

#include "core/rounding.hpp"
#include "memory/arenas/size_classes.hpp"

namespace terrace::agent {

namespace {

constexpr std::size_t k_slab = 65536;
constexpr std::size_t k_batch = 16 * k_slab;  // bytes mapped at a time
constexpr std::size_t k_header = 64;
constexpr std::size_t k_biggest_class = 16384;
constexpr std::uint32_t k_big = 0xffffffff;

// Precedes the blocks of a slab or a mapping. Found from a block's address by rounding down to k_slab.
struct Header {
  std::uint32_t size_class;  // or k_big
  std::size_t mapped;        // for k_big: size of the mapping
  std::byte* mapping;
};
static_assert(sizeof(Header) <= k_header);

using memory::size_class_of;
static_assert(memory::size_of_class(size_class_of(k_biggest_class)) == k_biggest_class);

std::byte* map(std::size_t size) {
  // Bare system call: mmap() is interposed in the injected library.
  const auto result = syscall(SYS_mmap, 0L, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<std::byte*>(result);  // NOLINT(performance-no-int-to-ptr)
}

std::byte* align_up(std::byte* address, std::size_t alignment) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return address + ((value + alignment - 1) / alignment * alignment - value);
}

Header& header_of(void* address) {
  auto* const byte = static_cast<std::byte*>(address);
  return *reinterpret_cast<Header*>(byte - reinterpret_cast<std::uintptr_t>(address) % k_slab);
}

// Maps a large block. The header is at a slab boundary, the block less than a slab behind it.
void* allocate_big(std::size_t size, std::size_t alignment) {
  if (size > PTRDIFF_MAX - 3 * k_slab) return nullptr;
  const auto offset = std::max(alignment, k_header);
  if (offset >= k_slab) return nullptr;
  const auto total = page_up(size + offset + k_slab);
  auto* const mapping = map(total);
  if (!mapping) return nullptr;
  auto* const start = align_up(mapping, k_slab);
  *reinterpret_cast<Header*>(start) = {k_big, total, mapping};
  return start + offset;
}

}  // namespace

// Returns a fresh slab of k_slab bytes, or null without memory. Requires: the lock is held.
void* InternalHeap::new_slab() {
  if (slabs_ == slabs_end_) {
    auto* const batch = map(k_batch + k_slab);
    if (!batch) return nullptr;
    slabs_ = align_up(batch, k_slab);
    slabs_end_ = slabs_ + k_batch;
  }
  auto* const slab = slabs_;
  slabs_ += k_slab;
  return slab;
}

void* InternalHeap::allocate(std::size_t size, std::size_t alignment) noexcept {
  if (size > PTRDIFF_MAX) return nullptr;
  // Blocks of power-of-two classes are naturally aligned.
  if (alignment > 16) size = std::bit_ceil(std::max(size, alignment));
  if (size > k_biggest_class || alignment > k_biggest_class) {
    // Map under the lock, too, so that race detectors see an order if an address moves between threads.
    const std::lock_guard guard(lock_);
    return allocate_big(size, alignment);
  }
  const auto index = size_class_of(size);
  const auto block = memory::size_of_class(index);
  const std::lock_guard guard(lock_);
  auto& size_class = classes_[index];
  if (auto* const free = size_class.free) {
    size_class.free = free->next;
    return free;
  }
  if (size_class.fresh == nullptr || size_class.fresh + block > size_class.end) {
    auto* const slab = static_cast<std::byte*>(new_slab());
    if (!slab) return nullptr;
    *reinterpret_cast<Header*>(slab) = {static_cast<std::uint32_t>(index), 0, nullptr};
    const auto step = std::has_single_bit(block) ? block : std::size_t{16};
    size_class.fresh = slab + std::max(k_header, step);
    size_class.end = slab + k_slab;
  }
  auto* const fresh = size_class.fresh;
  size_class.fresh += block;
  return fresh;
}

void InternalHeap::release(void* address) noexcept {
  if (!address) return;
  auto& header = header_of(address);
  const std::lock_guard guard(lock_);
  if (header.size_class == k_big) {
    syscall(SYS_munmap, header.mapping, header.mapped);
    return;
  }
  auto& size_class = classes_[header.size_class];
  auto* const free = static_cast<Free*>(address);
  free->next = size_class.free;
  size_class.free = free;
}

InternalHeap& internal_heap() noexcept {
  static constinit InternalHeap heap;
  return heap;
}

}  // namespace terrace::agent
