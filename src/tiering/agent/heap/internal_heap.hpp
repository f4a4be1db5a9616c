// SPDX-License-Identifier: Apache-2.0
// Allocates Terrace's own memory inside the user's process: operator new of the injected library
// (interpose/operator_new.cpp) calls it. Terrace must not call the program's malloc: it interposes it, malloc may
// be what called Terrace, and Terrace's allocations must not shift the program's addresses.
//
// Small requests come from 64 KiB slabs of one size class each, large ones from mappings of their own. Slabs are
// reused but never returned to the system. Thread-safe. Constant-initialised, so it works before constructors run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "observe/objects/spin_lock.hpp"

namespace terrace::agent {

class InternalHeap {
 public:
  constexpr InternalHeap() = default;
  InternalHeap(const InternalHeap&) = delete;
  InternalHeap& operator=(const InternalHeap&) = delete;

  // Returns null if the system is out of memory. `alignment` is a power of two, at most the slab size.
  void* allocate(std::size_t size, std::size_t alignment = 16) noexcept;
  void release(void* address) noexcept;

  // For fork(2).
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  static constexpr std::size_t k_classes = 40;
  struct Free {
    Free* next;
  };
  struct Class {
    Free* free = nullptr;
    std::byte* fresh = nullptr;  // start of the never allocated rest of the newest slab
    std::byte* end = nullptr;
  };
  void* new_slab();

  observe::SpinLock lock_;
  std::array<Class, k_classes> classes_{};
  std::byte* slabs_ = nullptr;  // mapped slabs that are not in use yet
  std::byte* slabs_end_ = nullptr;
};

// Returns the heap that the library's operator new and delete use.
InternalHeap& internal_heap() noexcept;

}  // namespace terrace::agent
