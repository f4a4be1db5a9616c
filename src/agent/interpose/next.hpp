// The functions that would be called if Terrace were not there: the next definition behind the injected library.
//
// Finding one may itself allocate; what is asked for meanwhile comes from a small arena that is never given back.
#pragma once

#include <atomic>
#include <cstddef>

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

// nullptr while this very thread is finding them: use the arena.
const NextAllocator* next_allocator() noexcept;

void* arena_allocate(std::size_t size, std::size_t alignment = 16) noexcept;
bool arena_contains(const void* address) noexcept;
// The size that was asked for.
std::size_t arena_size(const void* address) noexcept;

// Of those on condition variables: earlier ones have another layout, under the same names.
inline constexpr const char* k_condition_version = "GLIBC_2.3.2";

// Finds what threads of ours call. Later a library that is being loaded may hold the lock that finding takes, and
// wait for one of them: where its constructor has the first data for it.
void find_for_own_threads() noexcept;

// The next definition of any function, by name. Null where there is none.
void* find_next(const char* name) noexcept;
void* find_next_version(const char* name, const char* version) noexcept;

// A function that is found at its first call: `static Next<decltype(&fork)> next{"fork"}; (*next)()`.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name, const char* version = nullptr) : name_(name), version_(version) {}
  Function operator*() noexcept {
    auto function = function_.load(std::memory_order_relaxed);
    if (!function) {
      void* const found = version_ ? find_next_version(name_, version_) : nullptr;
      function = reinterpret_cast<Function>(found ? found : find_next(name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  const char* version_;                      // of several, where the C library has them
  std::atomic<Function> function_{nullptr};  // racing threads store the same value
};

}  // namespace terrace::agent
