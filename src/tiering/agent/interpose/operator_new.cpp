// SPDX-License-Identifier: Apache-2.0
// Defines operator new and delete for the injected library, hidden from the program. They use the internal heap.
#include <cstdlib>
#include <new>

#include "agent/heap/internal_heap.hpp"

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
  if (void* const block = terrace::agent::internal_heap().allocate(size, alignment)) return block;
  throw std::bad_alloc();
}

void release(void* block) noexcept { terrace::agent::internal_heap().release(block); }

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 16); }
void* operator new[](std::size_t size) { return allocate(size, 16); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return terrace::agent::internal_heap().allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return terrace::agent::internal_heap().allocate(size);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
