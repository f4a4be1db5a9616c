// SPDX-License-Identifier: Apache-2.0
// Implements the allocator of small blocks that the agent's heaps use: the arenas of the process and the caches of
// its threads. A cache holds free blocks of each class, which its thread allocates and frees without a lock.
#include "memory/arenas/block_arena.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "memory/arenas/arena.hpp"

namespace terrace::memory {

namespace {

constinit std::mutex g_creation_mutex;
constinit std::array<std::atomic<Arena*>, BlockArena::k_max_arenas> g_arenas{};

struct FreeList {
  void* list = nullptr;  // linked through their first words
  std::uint32_t count = 0;
};
struct ArenaCache {
  std::array<FreeList, Arena::k_num_classes> free_lists;
};
struct ThreadCaches {
  std::array<ArenaCache*, BlockArena::k_max_arenas> of{};
};
// Pointers only: a library opened with dlopen(3) gets little static TLS.
constinit thread_local ThreadCaches* t_caches __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool t_is_exiting __attribute__((tls_model("initial-exec"))) = false;

constinit std::atomic<const void*> g_locked_by{nullptr};  // holder of lock(), identified by its &t_caches
constinit int g_lock_depth = 0;                           // recursion depth of lock()

pthread_key_t g_key;
constinit std::atomic<int> g_has_key{0};  // 1: created, -1: the system has none left

// Returns how many blocks of a class a thread caches: 32 KiB, clamped to 4..64 blocks.
constexpr std::uint32_t max_cached(std::size_t block) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(Arena::k_max_class_size / block, 4, 64));
}
constexpr auto k_max_cached = [] {
  std::array<std::uint32_t, Arena::k_num_classes> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = max_cached(size_of_class(i));
  return counts;
}();

// Returns the calling thread's cache, or null if there is no memory or the thread exits.
ArenaCache* cache_of(unsigned number) noexcept {
  if (t_caches && t_caches->of[number]) return t_caches->of[number];
  if (t_is_exiting) return nullptr;
  if (!t_caches) {
    t_caches = new (std::nothrow) ThreadCaches;
    // Without a key the cached blocks of an exiting thread leak.
    if (t_caches && g_has_key.load(std::memory_order_acquire) > 0) pthread_setspecific(g_key, t_caches);
  }
  return t_caches ? t_caches->of[number] = new (std::nothrow) ArenaCache : nullptr;
}

void flush_cache(Arena& arena, ArenaCache& cache) noexcept {
  for (auto& cached : cache.free_lists) {
    arena.release_batch(cached.list);
    cached = {};
  }
}

Arena& arena_of(unsigned number) noexcept { return *g_arenas[number].load(std::memory_order_acquire); }

// Takes a block of the class from the calling thread's cache, which is refilled from the arena if empty.
void* take_cached(unsigned number, std::size_t size_class) noexcept {
  auto* const cache = cache_of(number);
  if (!cache) {
    void* block = nullptr;
    arena_of(number).allocate_batch(size_class, 1, &block);
    return block;
  }
  auto& cached = cache->free_lists[size_class];
  if (cached.count == 0)
    cached.count = static_cast<std::uint32_t>(
        arena_of(number).allocate_batch(size_class, (k_max_cached[size_class] + 1) / 2, &cached.list));
  if (cached.count == 0) return nullptr;
  void* const block = cached.list;
  cached.list = *static_cast<void**>(block);
  --cached.count;
  return block;
}

// Returns the least recently freed half of the list to the arena.
void flush_half(Arena& arena, FreeList& cached) noexcept {
  const auto num_kept = cached.count / 2;
  auto* last = cached.list;
  for (std::uint32_t i = 1; i < num_kept; ++i) last = *static_cast<void**>(last);
  void* const others = *static_cast<void**>(last);
  *static_cast<void**>(last) = nullptr;
  cached.count = num_kept;
  arena.release_batch(others);
}

}  // namespace

bool BlockArena::create(unsigned number, ExtentSource& extents) noexcept {
  const std::lock_guard guard(g_creation_mutex);
  if (g_arenas[number].load(std::memory_order_relaxed)) return true;
  if (g_has_key.load(std::memory_order_acquire) == 0)
    g_has_key.store(pthread_key_create(&g_key, [](void*) { on_thread_exit(); }) == 0 ? 1 : -1,
                    std::memory_order_release);
  auto* const arena = new (std::nothrow) Arena(extents);
  g_arenas[number].store(arena, std::memory_order_release);
  return arena != nullptr;
}

void* BlockArena::allocate(unsigned number, std::size_t size, std::size_t alignment, bool zeros) noexcept {
  // Blocks of a class whose size is a power of two lie at multiples of it.
  const auto class_size = alignment > 16 ? std::bit_ceil(std::max(size, alignment)) : size;
  void* const block = class_size <= Arena::k_max_class_size ? take_cached(number, size_class_of(class_size))
                                                            : arena_of(number).allocate_large(size, alignment);
  if (block && zeros) std::memset(block, 0, size);
  return block;
}

void BlockArena::release(unsigned number, void* block) noexcept {
  auto* const run = ExtentPages::run_of(block);
  if (run->size_class == Arena::k_num_classes) return arena_of(number).release_large(run);
  auto* const cache = cache_of(number);
  if (!cache) {
    *static_cast<void**>(block) = nullptr;
    return arena_of(number).release_batch(block);
  }
  auto& cached = cache->free_lists[run->size_class];
  if (cached.count >= k_max_cached[run->size_class]) flush_half(arena_of(number), cached);
  *static_cast<void**>(block) = cached.list;
  cached.list = block;
  ++cached.count;
}

bool BlockArena::is_block_start(const void* address) noexcept {
  const auto* const run = ExtentPages::run_of(address);
  if (!run) return false;
  const auto offset = reinterpret_cast<std::uint64_t>(address) - run->address;
  return offset % run->block == 0 &&
         (run->size_class == Arena::k_num_classes || offset < run->blocks * run->block);
}

std::size_t BlockArena::size_of(const void* block) noexcept { return ExtentPages::run_of(block)->block; }

void BlockArena::purge(unsigned number) noexcept {
  if (t_caches && t_caches->of[number]) flush_cache(arena_of(number), *t_caches->of[number]);
  arena_of(number).purge();
}

void BlockArena::on_thread_exit() noexcept {
  t_is_exiting = true;
  auto* const caches = t_caches;
  t_caches = nullptr;
  if (!caches) return;
  for (unsigned i = 0; i < k_max_arenas; ++i) {
    if (!caches->of[i]) continue;
    flush_cache(arena_of(i), *caches->of[i]);
    delete caches->of[i];
  }
  delete caches;
}

void BlockArena::lock() noexcept {
  if (g_locked_by.load(std::memory_order_relaxed) == &t_caches) {
    ++g_lock_depth;
    return;
  }
  g_creation_mutex.lock();
  for (auto& arena : g_arenas)
    if (auto* const one = arena.load()) one->lock();
  g_locked_by.store(&t_caches, std::memory_order_relaxed);
  g_lock_depth = 1;
}

void BlockArena::unlock() noexcept {
  if (--g_lock_depth > 0) return;
  g_locked_by.store(nullptr, std::memory_order_relaxed);
  for (auto& arena : g_arenas)
    if (auto* const one = arena.load()) one->unlock();
  g_creation_mutex.unlock();
}

}  // namespace terrace::memory
