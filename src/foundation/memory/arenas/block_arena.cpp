// The process's arenas, and the caches of its threads: blocks of each class that a thread takes and gives back
// without a lock. See block_arena.hpp.
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

constinit std::mutex g_making;
constinit std::array<std::atomic<Arena*>, BlockArena::k_max> g_arenas{};

struct Kept {
  void* list = nullptr;  // linked by their first words
  std::uint32_t count = 0;
};
struct Cache {
  std::array<Kept, Arena::k_classes> kept;
};
struct Caches {
  std::array<Cache*, BlockArena::k_max> of{};
};
// A pointer alone: a library that a program opens while it runs gets little thread-local memory.
constinit thread_local Caches* t_caches __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local bool t_ends __attribute__((tls_model("initial-exec"))) = false;

constinit std::atomic<const void*> g_locked_by{nullptr};  // around a fork: a thread's own t_caches
constinit int g_locks = 0;                                // by that thread

pthread_key_t g_key;
constinit std::atomic<int> g_has_key{0};  // 1: yes, -1: the system has none left

// Of a class in one thread's cache: 32 KiB, from 4 blocks to 64.
constexpr std::uint32_t most_of(std::size_t block) {
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(Arena::k_largest_class / block, 4, 64));
}
constexpr auto k_max_of = [] {
  std::array<std::uint32_t, Arena::k_classes> most{};
  for (std::size_t i = 0; i < most.size(); ++i) most[i] = most_of(size_of_class(i));
  return most;
}();

// Null where there is no memory for it, or the thread ends.
Cache* cache_of(unsigned number) noexcept {
  if (t_caches && t_caches->of[number]) return t_caches->of[number];
  if (t_ends) return nullptr;
  if (!t_caches) {
    t_caches = new (std::nothrow) Caches;
    // Without a key what a thread has kept stays so when it ends.
    if (t_caches && g_has_key.load(std::memory_order_acquire) > 0) pthread_setspecific(g_key, t_caches);
  }
  return t_caches ? t_caches->of[number] = new (std::nothrow) Cache : nullptr;
}

void give_all(Arena& arena, Cache& cache) noexcept {
  for (auto& kept : cache.kept) {
    arena.give(kept.list);
    kept = {};
  }
}

Arena& arena_of(unsigned number) noexcept { return *g_arenas[number].load(std::memory_order_acquire); }

void* take(unsigned number, std::size_t size_class) noexcept {
  auto* const cache = cache_of(number);
  if (!cache) {
    void* block = nullptr;
    arena_of(number).take(size_class, 1, &block);
    return block;
  }
  auto& kept = cache->kept[size_class];
  if (kept.count == 0)
    kept.count =
        static_cast<std::uint32_t>(arena_of(number).take(size_class, (k_max_of[size_class] + 1) / 2, &kept.list));
  if (kept.count == 0) return nullptr;
  void* const block = kept.list;
  kept.list = *static_cast<void**>(block);
  --kept.count;
  return block;
}

// The longest unused half goes back.
void give_half(Arena& arena, Kept& kept) noexcept {
  const auto stay = kept.count / 2;
  auto* last = kept.list;
  for (std::uint32_t i = 1; i < stay; ++i) last = *static_cast<void**>(last);
  void* const others = *static_cast<void**>(last);
  *static_cast<void**>(last) = nullptr;
  kept.count = stay;
  arena.give(others);
}

}  // namespace

bool BlockArena::make(unsigned number, Extents& extents) noexcept {
  const std::lock_guard guard(g_making);
  if (g_arenas[number].load(std::memory_order_relaxed)) return true;
  if (g_has_key.load(std::memory_order_acquire) == 0)
    g_has_key.store(pthread_key_create(&g_key, [](void*) { end_thread(); }) == 0 ? 1 : -1,
                    std::memory_order_release);
  auto* const arena = new (std::nothrow) Arena(extents);
  g_arenas[number].store(arena, std::memory_order_release);
  return arena != nullptr;
}

void* BlockArena::allocate(unsigned number, std::size_t size, std::size_t alignment, bool zeros) noexcept {
  // A class whose size is a power of two has its blocks at multiples of it.
  const auto wanted = alignment > 16 ? std::bit_ceil(std::max(size, alignment)) : size;
  void* const block = wanted <= Arena::k_largest_class ? take(number, size_class_of(wanted))
                                                       : arena_of(number).take_large(size, alignment);
  if (block && zeros) std::memset(block, 0, size);
  return block;
}

void BlockArena::release(unsigned number, void* block) noexcept {
  auto* const run = ExtentPages::run_of(block);
  if (run->size_class == Arena::k_classes) return arena_of(number).give_large(run);
  auto* const cache = cache_of(number);
  if (!cache) {
    *static_cast<void**>(block) = nullptr;
    return arena_of(number).give(block);
  }
  auto& kept = cache->kept[run->size_class];
  if (kept.count >= k_max_of[run->size_class]) give_half(arena_of(number), kept);
  *static_cast<void**>(block) = kept.list;
  kept.list = block;
  ++kept.count;
}

bool BlockArena::begins(const void* address) noexcept {
  const auto* const run = ExtentPages::run_of(address);
  if (!run) return false;
  const auto offset = reinterpret_cast<std::uint64_t>(address) - run->address;
  return offset % run->block == 0 && (run->size_class == Arena::k_classes || offset < run->blocks * run->block);
}

std::size_t BlockArena::size_of(const void* block) noexcept { return ExtentPages::run_of(block)->block; }

void BlockArena::purge(unsigned number) noexcept {
  if (t_caches && t_caches->of[number]) give_all(arena_of(number), *t_caches->of[number]);
  arena_of(number).purge();
}

void BlockArena::end_thread() noexcept {
  t_ends = true;
  auto* const caches = t_caches;
  t_caches = nullptr;
  if (!caches) return;
  for (unsigned i = 0; i < k_max; ++i) {
    if (!caches->of[i]) continue;
    give_all(arena_of(i), *caches->of[i]);
    delete caches->of[i];
  }
  delete caches;
}

void BlockArena::lock() noexcept {
  if (g_locked_by.load(std::memory_order_relaxed) == &t_caches) {
    ++g_locks;
    return;
  }
  g_making.lock();
  for (auto& arena : g_arenas)
    if (auto* const one = arena.load()) one->lock();
  g_locked_by.store(&t_caches, std::memory_order_relaxed);
  g_locks = 1;
}

void BlockArena::unlock() noexcept {
  if (--g_locks > 0) return;
  g_locked_by.store(nullptr, std::memory_order_relaxed);
  for (auto& arena : g_arenas)
    if (auto* const one = arena.load()) one->unlock();
  g_making.unlock();
}

}  // namespace terrace::memory
