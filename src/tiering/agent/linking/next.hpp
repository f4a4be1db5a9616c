// The functions that would be called if Terrace were not there: the next definition behind the injected library.
// Serves functions of the C library, which every caller has in its scope. Functions of libraries that a caller may
// have a copy of, or load for itself, are found by caller (caller_functions.hpp).
//
// Finding one may itself allocate; what is asked for meanwhile comes from an arena
// (agent/heap/libc_arena.hpp).
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

// nullptr while this very thread is finding them: use the arena. dlsym asks for a few hundred bytes; a program's
// own allocator may do some work of its own in there.
inline const NextAllocator* next_allocator() noexcept {
  return g_next_allocator.found.load(std::memory_order_acquire) ? &g_next_allocator.allocator
                                                                : find_next_allocator();
}

// The kernel refuses at once what is more than memory and swap; reserved address space would not. So that is left
// to the next allocator, which asks the kernel.
bool exceeds_memory(std::size_t size) noexcept;

// Of those on condition variables: earlier ones have another layout, under the same names.
inline constexpr const char* k_condition_version = "GLIBC_2.3.2";

// Finds what threads of ours call. Later a library that is being loaded may hold the lock that finding takes, and
// wait for one of them: where its constructor has the first data for it.
void bind_own_thread_functions() noexcept;

// The next definition of any function, by name. Null where there is none.
void* find_next(const char* name) noexcept;
void* find_next_version(const char* name, const char* version) noexcept;

// A function that is found at its first call: `static NextFunction<decltype(&fork)> next{"fork"}; (*next)()`.
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
  const char* version_;                      // of several, where the C library has them
  std::atomic<Function> function_{nullptr};  // racing threads store the same value
};

}  // namespace terrace::agent
