// SPDX-License-Identifier: Apache-2.0
// Interposes memcpy, memmove, memset and related functions. Code compiled with -fno-builtin-memcpy and so on calls
// them where the compiler would have inlined an untraced copy; copies of uninstrumented libraries are traced by
// them, too.

#include <dlfcn.h>

#include <atomic>
#include <cstddef>

#include "observe/coverage/time_samples.hpp"
#include "observe/pipeline/trace.hpp"

// Does not include the C library's headers: they declare some of these names with attributes that a definition
// violates.
extern "C" [[noreturn]] void __chk_fail();

namespace terrace::observe {

namespace {

// Used before the C library's functions are resolved. The empty asm keeps the compiler from turning the loops into
// memcpy.
void* copy_up(void* to, const void* from, std::size_t size) {
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  for (std::size_t i = 0; i < size; ++i) {
    t[i] = f[i];
    asm volatile("" ::: "memory");
  }
  return to;
}

void* copy_either_way(void* to, const void* from, std::size_t size) {
  auto* t = static_cast<char*>(to);
  const auto* f = static_cast<const char*>(from);
  if (reinterpret_cast<std::uint64_t>(t) - reinterpret_cast<std::uint64_t>(f) >= size)
    return copy_up(to, from, size);
  for (std::size_t i = size; i > 0; --i) {
    t[i - 1] = f[i - 1];
    asm volatile("" ::: "memory");
  }
  return to;
}

void* fill(void* to, int value, std::size_t size) {
  auto* t = static_cast<char*>(to);
  for (std::size_t i = 0; i < size; ++i) {
    t[i] = static_cast<char>(value);
    asm volatile("" ::: "memory");
  }
  return to;
}

using Copy = void* (*)(void*, const void*, std::size_t);
using Fill = void* (*)(void*, int, std::size_t);

constinit std::atomic<Copy> real_memcpy{copy_up};
constinit std::atomic<Copy> real_memmove{copy_either_way};
constinit std::atomic<Fill> real_memset{fill};

template <class Function>
void resolve(std::atomic<Function>& pointer, const char* name) {
  if (auto* found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name))) {
    pointer.store(found, std::memory_order_relaxed);
  }
}

// The runtime's own copies also end up here; they are not accesses of the program, traced or untraced.
[[gnu::always_inline]] inline bool is_programs(std::size_t size) { return size != 0 && t_thread.inside == 0; }

// Most programs are not traced: their cost is a jump to the C library.
[[gnu::always_inline]] inline bool is_followed() { return t_thread.pipeline || t_thread.samples; }

// Makes a copy for a thread that is traced or sampled: traces it if it is the program's own.
[[gnu::noinline]] void* copy_followed(Copy next, void* to, const void* from, std::size_t size,
                                      std::uint64_t site) {
  if (!is_programs(size)) return next(to, from, size);
  trace_range(from, size, false, site);
  trace_range(to, size, true, site);
  before_reported();
  void* const result = next(to, from, size);
  after_reported();
  return result;
}

[[gnu::noinline]] void* set_followed(Fill next, void* to, int value, std::size_t size, std::uint64_t site) {
  if (!is_programs(size)) return next(to, value, size);
  trace_range(to, size, true, site);
  before_reported();
  void* const result = next(to, value, size);
  after_reported();
  return result;
}

[[gnu::always_inline]] inline void* copy(const std::atomic<Copy>& real, void* to, const void* from,
                                         std::size_t size, std::uint64_t site) {
  const auto next = real.load(std::memory_order_relaxed);
  if (!is_followed()) [[likely]]
    return next(to, from, size);
  return copy_followed(next, to, from, size, site);
}

[[gnu::always_inline]] inline void* set(void* to, int value, std::size_t size, std::uint64_t site) {
  const auto next = real_memset.load(std::memory_order_relaxed);
  if (!is_followed()) [[likely]]
    return next(to, value, size);
  return set_followed(next, to, value, size, site);
}

// Finds the C library's functions. Until then simple loops copy: constructors of other libraries may run before
// the runtime's.
__attribute__((constructor(101))) void find_real_functions() {
  resolve(real_memcpy, "memcpy");
  resolve(real_memmove, "memmove");
  resolve(real_memset, "memset");
}

}  // namespace

}  // namespace terrace::observe

using terrace::observe::copy;
using terrace::observe::real_memcpy;
using terrace::observe::real_memmove;

extern "C" {

TERRACE_HOOK void* memcpy(void* to, const void* from, std::size_t size) {
  return copy(real_memcpy, to, from, size, TERRACE_SITE);
}
TERRACE_HOOK void* memmove(void* to, const void* from, std::size_t size) {
  return copy(real_memmove, to, from, size, TERRACE_SITE);
}
TERRACE_HOOK void* memset(void* to, int value, std::size_t size) {
  return terrace::observe::set(to, value, size, TERRACE_SITE);
}
TERRACE_HOOK void* mempcpy(void* to, const void* from, std::size_t size) {
  return static_cast<char*>(copy(real_memcpy, to, from, size, TERRACE_SITE)) + size;
}
TERRACE_HOOK void* __mempcpy(void* to, const void* from, std::size_t size) {
  return static_cast<char*>(copy(real_memcpy, to, from, size, TERRACE_SITE)) + size;
}
TERRACE_HOOK void bcopy(const void* from, void* to, std::size_t size) {
  copy(real_memmove, to, from, size, TERRACE_SITE);
}
TERRACE_HOOK void bzero(void* to, std::size_t size) { terrace::observe::set(to, 0, size, TERRACE_SITE); }
TERRACE_HOOK void explicit_bzero(void* to, std::size_t size) { terrace::observe::set(to, 0, size, TERRACE_SITE); }

// The checked variants of _FORTIFY_SOURCE.
TERRACE_HOOK void* __memcpy_chk(void* to, const void* from, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  return copy(real_memcpy, to, from, size, TERRACE_SITE);
}
TERRACE_HOOK void* __memmove_chk(void* to, const void* from, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  return copy(real_memmove, to, from, size, TERRACE_SITE);
}
TERRACE_HOOK void* __memset_chk(void* to, int value, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  return terrace::observe::set(to, value, size, TERRACE_SITE);
}
TERRACE_HOOK void* __mempcpy_chk(void* to, const void* from, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  return static_cast<char*>(copy(real_memcpy, to, from, size, TERRACE_SITE)) + size;
}
TERRACE_HOOK void __explicit_bzero_chk(void* to, std::size_t size, std::size_t room) {
  if (size > room) __chk_fail();
  terrace::observe::set(to, 0, size, TERRACE_SITE);
}

}  // extern "C"
