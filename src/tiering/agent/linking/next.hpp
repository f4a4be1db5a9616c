// SPDX-License-Identifier: Apache-2.0
// Resolves the next definition of an interposed function (dlsym(RTLD_NEXT)): the one that would be called without
// Terrace. Most interposers forward by it. Serves functions of the C library, which every caller has in its scope.
// Functions of libraries that a caller may have a copy of, or load for itself, are resolved by caller
// (caller_functions.hpp).
//
// Resolution may itself allocate; such requests come from an arena (agent/heap/libc_arena.hpp). Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace terrace::agent {

struct NextAllocator {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*malloc_usable_size)(void*);
};

struct FoundAllocator {
  NextAllocator allocator;
  std::atomic<bool> found;
};
extern constinit FoundAllocator g_next_allocator __attribute__((visibility("hidden")));
const NextAllocator* find_next_allocator() noexcept;

// Returns the next allocator, or null while this thread is resolving it: the caller then uses the arena. dlsym(3)
// allocates a few hundred bytes; a program's own allocator may run code of its own meanwhile.
inline const NextAllocator* next_allocator() noexcept {
  return g_next_allocator.found.load(std::memory_order_acquire) ? &g_next_allocator.allocator
                                                                : find_next_allocator();
}

// Returns whether the size exceeds memory and swap. The kernel refuses such a mapping at once, but Terrace's
// reserved address space would not; so the next allocator must handle it.
bool exceeds_memory(std::size_t size) noexcept;

// Symbol version of the functions on condition variables. Older versions have the same names and another layout.
inline constexpr const char* k_condition_version = "GLIBC_2.3.2";

// Resolves in advance all functions that Terrace's own threads call. Later resolution could deadlock: a library's
// constructor may run under the dynamic linker's lock and wait for one of these threads.
void bind_own_thread_functions() noexcept;

// Return the next definition of a function, or null if there is none.
void* find_next(const char* name) noexcept;
void* find_next_version(const char* name, const char* version) noexcept;

// Resolves a function at its first call: `static NextFunction<decltype(&fork)> next{"fork"}; (*next)()`.
template <class Function>
class NextFunction {
 public:
  constexpr explicit NextFunction(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}
  Function operator*() noexcept {
    const auto function = function_.load(std::memory_order_relaxed);
    return function ? function : find();
  }

 private:
  [[gnu::noinline, gnu::cold]] Function find() noexcept {
    void* const found = version_ ? find_next_version(name_, version_) : nullptr;
    const auto function = reinterpret_cast<Function>(found ? found : find_next(name_));
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

  const char* name_;
  const char* version_;                      // null: the default version
  std::atomic<Function> function_{nullptr};  // racing threads store the same value
};

}  // namespace terrace::agent
