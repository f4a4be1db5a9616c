// Arenas, thread caches and extent hooks. See block_arena.hpp.
#include "memory/arenas/block_arena.hpp"

#include <jemalloc/jemalloc.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <new>

#include "memory/arenas/extent_pages.hpp"
#include "memory/arenas/jemalloc_system.hpp"

extern "C" {
void* terrace_arena_mallocx(std::size_t size, int flags);
void terrace_arena_dallocx(void* block, int flags);
std::size_t terrace_arena_sallocx(const void* block, int flags);
int terrace_arena_mallctl(const char* name, void* old, std::size_t* old_size, void* to, std::size_t size);
}

namespace terrace::memory {

namespace {

struct Arena {
  extent_hooks_t hooks{};  // the first: jemalloc hands out its address
  ExtentPages* pages = nullptr;
  unsigned index = 0;  // jemalloc's
};
constinit std::array<Arena, BlockArena::k_most> g_arenas{};

// What jemalloc 5.3's experimental.arenas_create_ext takes.
struct Config {
  extent_hooks_t* hooks;
  bool metadata_use_hooks;
};

struct Caches {
  std::array<unsigned, BlockArena::k_most> number{};  // of jemalloc, plus 1; 0: none yet
  bool is_over = false;                               // the thread ends
};
constinit thread_local Caches t_caches __attribute__((tls_model("initial-exec"))){};
pthread_key_t g_key;
constinit std::atomic<int> g_has_key{0};  // 1: yes, -1: the system has none left

void* take(extent_hooks_t* hooks, void* address, std::size_t size, std::size_t alignment, bool* zero, bool* commit,
           unsigned) {
  if (address) return nullptr;
  void* const got = reinterpret_cast<Arena*>(hooks)->pages->take(size, alignment);
  if (!got) return nullptr;
  if (*zero) std::memset(got, 0, size);
  *commit = true;
  return got;
}

bool give(extent_hooks_t* hooks, void* address, std::size_t size, bool, unsigned) {
  reinterpret_cast<Arena*>(hooks)->pages->give(address, size);
  return false;
}

bool split(extent_hooks_t*, void*, std::size_t, std::size_t, std::size_t, bool, unsigned) { return false; }
bool merge(extent_hooks_t*, void*, std::size_t, void*, std::size_t, bool, unsigned) { return false; }

// A program may have used up the keys: then blocks of threads that have ended stay in their caches.
bool has_key() noexcept {
  if (const auto known = g_has_key.load(std::memory_order_acquire)) return known > 0;
  const bool made = pthread_key_create(&g_key, [](void*) { BlockArena::end_thread(); }) == 0;
  g_has_key.store(made ? 1 : -1, std::memory_order_release);
  return made;
}

int cache_flag(unsigned number) noexcept {
  auto& caches = t_caches;
  if (const auto known = caches.number[number]) return MALLOCX_TCACHE(known - 1);
  if (caches.is_over) return MALLOCX_TCACHE_NONE;
  unsigned made = 0;
  std::size_t size = sizeof made;
  if (terrace_arena_mallctl("tcache.create", &made, &size, nullptr, 0) != 0) return MALLOCX_TCACHE_NONE;
  caches.number[number] = made + 1;
  if (g_has_key.load(std::memory_order_acquire) > 0) pthread_setspecific(g_key, &caches);
  return MALLOCX_TCACHE(made);
}

}  // namespace

bool BlockArena::make(unsigned number, Extents& extents) noexcept {
  auto& arena = g_arenas[number];
  arena.hooks.alloc = take;
  arena.hooks.dalloc = give;
  arena.hooks.split = split;
  arena.hooks.merge = merge;
  arena.pages = new (std::nothrow) ExtentPages(extents);
  if (!arena.pages) return false;
  has_key();
  // Its own data do not come from the extents: those are the blocks' alone.
  Config config{&arena.hooks, false};
  std::size_t size = sizeof arena.index;
  return terrace_arena_mallctl("experimental.arenas_create_ext", &arena.index, &size, &config, sizeof config) == 0;
}

void* BlockArena::allocate(unsigned number, std::size_t size, std::size_t alignment, bool zeros) noexcept {
  int flags = MALLOCX_ARENA(g_arenas[number].index) | cache_flag(number);
  if (alignment > 16) flags |= MALLOCX_LG_ALIGN(std::countr_zero(alignment));
  if (zeros) flags |= MALLOCX_ZERO;
  // Blocks of its least class would be aligned to 8 bytes alone.
  return terrace_arena_mallocx(std::max(size, alignof(std::max_align_t)), flags);
}

void BlockArena::release(unsigned number, void* block) noexcept {
  terrace_arena_dallocx(block, cache_flag(number));
}

std::size_t BlockArena::size_of(const void* block) noexcept { return terrace_arena_sallocx(block, 0); }

void BlockArena::purge(unsigned number) noexcept {
  for (auto cache : t_caches.number) {
    if (cache == 0) continue;
    --cache;
    terrace_arena_mallctl("tcache.flush", nullptr, nullptr, &cache, sizeof cache);
  }
  char name[64];
  std::snprintf(name, sizeof name, "arena.%u.purge", g_arenas[number].index);
  terrace_arena_mallctl(name, nullptr, nullptr, nullptr, 0);
}

void BlockArena::end_thread() noexcept {
  auto& caches = t_caches;
  caches.is_over = true;
  for (auto& number : caches.number) {
    if (number == 0) continue;
    auto cache = number - 1;
    number = 0;
    terrace_arena_mallctl("tcache.destroy", nullptr, nullptr, &cache, sizeof cache);
  }
}

void BlockArena::lock() noexcept {
  if (g_arena_fork.before) g_arena_fork.before();
  for (auto& arena : g_arenas)
    if (arena.pages) arena.pages->lock();
}
void BlockArena::unlock() noexcept {
  for (auto& arena : g_arenas)
    if (arena.pages) arena.pages->unlock();
  if (g_arena_fork.in_parent) g_arena_fork.in_parent();
}
void BlockArena::unlock_in_child() noexcept {
  for (auto& arena : g_arenas)
    if (arena.pages) arena.pages->unlock();
  if (g_arena_fork.in_child) g_arena_fork.in_child();
}

}  // namespace terrace::memory
