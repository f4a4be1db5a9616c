// Terrace's own memory inside a user's process. Terrace never calls the program's malloc, which it interposes and
// which may be on the way to calling Terrace; and what Terrace needs does not shift the program's addresses.
//
// Small requests come from slabs of 64 KiB of one size class each, big ones from mappings of their own. Slabs are
// reused but not given back. Safe from several threads; constant-initialised, so that it works before
// constructors.
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

  // nullptr when the system has no memory. `alignment` is a power of two of at most a slab's size.
  void* allocate(std::size_t size, std::size_t alignment = 16) noexcept;
  void release(void* address) noexcept;

  // Around fork.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  static constexpr std::size_t k_classes = 40;
  struct Free {
    Free* next;
  };
  struct Class {
    Free* free = nullptr;
    std::byte* fresh = nullptr;  // the part of the newest slab that was never handed out
    std::byte* end = nullptr;
  };
  void* new_slab();

  observe::SpinLock lock_;
  std::array<Class, k_classes> classes_{};
  std::byte* slabs_ = nullptr;  // slabs that were mapped and are not in use yet
  std::byte* slabs_end_ = nullptr;
};

// The one that operator new and delete use.
InternalHeap& internal_heap() noexcept;

}  // namespace terrace::agent
