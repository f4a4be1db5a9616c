// SPDX-License-Identifier: Apache-2.0
// Resolves the functions that the interposers forward to, with dlsym(RTLD_NEXT). See next.hpp.
#include "agent/linking/next.hpp"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "core/errno_scope.hpp"

namespace terrace::agent {

constinit FoundAllocator g_next_allocator{};

namespace {

thread_local bool t_finding __attribute__((tls_model("initial-exec"))) = false;

struct OwnThreadFunction {
  std::string_view name;
  void* function = nullptr;
};
// Generated from exports.txt: the exported functions that Terrace's own threads call.
constinit std::array g_own_thread_functions{
#include "agent/called_by_own_threads.inc"
};
constinit std::atomic<bool> g_are_own_bound{false};

void* find_own_thread_function(std::string_view name) noexcept {
  if (!g_are_own_bound.load(std::memory_order_acquire)) return nullptr;
  const auto* const found = std::ranges::find(g_own_thread_functions, name, &OwnThreadFunction::name);
  return found == g_own_thread_functions.end() ? nullptr : found->function;
}

bool has_versions(std::string_view name) noexcept { return name.starts_with("pthread_cond_"); }

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// Resolves malloc and its family at the first call of any of them.
const NextAllocator* find_next_allocator() noexcept {
  if (t_finding) return nullptr;
  t_finding = true;
  const ErrnoScope errno_scope;
  NextAllocator found{};
  find(found.calloc, "calloc");
  find(found.malloc, "malloc");
  find(found.realloc, "realloc");
  find(found.free, "free");
  find(found.posix_memalign, "posix_memalign");
  find(found.aligned_alloc, "aligned_alloc");
  find(found.memalign, "memalign");
  find(found.valloc, "valloc");
  find(found.pvalloc, "pvalloc");
  find(found.malloc_usable_size, "malloc_usable_size");
  g_next_allocator.allocator = found;  // racing threads store the same values
  g_next_allocator.found.store(true, std::memory_order_release);
  t_finding = false;
  return &g_next_allocator.allocator;
}

void bind_own_thread_functions() noexcept {
  const ErrnoScope errno_scope;
  for (auto& one : g_own_thread_functions) {
    if (has_versions(one.name)) one.function = dlvsym(RTLD_NEXT, one.name.data(), k_condition_version);
    if (!one.function) one.function = dlsym(RTLD_NEXT, one.name.data());
  }
  g_are_own_bound.store(true, std::memory_order_release);
}

void* find_next(const char* name) noexcept {
  if (void* const function = find_own_thread_function(name)) return function;
  const ErrnoScope errno_scope;
  return dlsym(RTLD_NEXT, name);
}

void* find_next_version(const char* name, const char* version) noexcept {
  if (version == std::string_view(k_condition_version))
    if (void* const function = find_own_thread_function(name)) return function;
  const ErrnoScope errno_scope;
  void* const function = dlvsym(RTLD_NEXT, name, version);
  return function ? function : dlsym(RTLD_NEXT, name);
}

bool exceeds_memory(std::size_t size) noexcept {
  constexpr std::size_t k_always = std::size_t{1} << 30;
  if (size < k_always) return false;
  struct sysinfo system {};
  return syscall(SYS_sysinfo, &system) == 0 && size / system.mem_unit > system.totalram + system.totalswap;
}

}  // namespace terrace::agent
