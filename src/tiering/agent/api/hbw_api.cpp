// SPDX-License-Identifier: Apache-2.0
// Implements terrace/hbwmalloc.h (memkind's interface), which programs call, on an HbwHeap. In the injected
// library that uses the session's ordered heap. Without a session, and in libterrace-hbw.so, it uses one of the
// process's own, for the machine as the kernel describes it.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <terrace/hbwmalloc.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/heap/hbw_heap.hpp"
#include "agent/heap/ordered_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "core/errno_scope.hpp"
#include "core/rounding.hpp"
#include "machine/nodes/node_files.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

using Policy = HbwHeap::Policy;

constexpr std::size_t k_natural = alignof(std::max_align_t);

// An ordered heap with its own machine description and ledger, for a process without a session.
struct ProcessHeap {
  explicit ProcessHeap(machine::Machine found) : machine(std::move(found)), ledger(page, budget_of(machine)) {
    OrderedHeap::Parts parts;
    parts.machine = &machine;
    parts.initiator = initiator_here(machine);
    parts.ledger = &ledger;
    parts.default_fill = OrderedHeap::FillMode::eager;  // so that no background threads are needed
    parts.enter = [] {};
    parts.say = [](const char*) {};
    heap.emplace(parts);
  }
  static machine::Budget budget_of(const machine::Machine& machine) {
    machine::Budget budget;
    for (const auto& place : machine.places()) budget.push_back(place.capacity);
    return budget;
  }
  // Returns the initiator of the processor that the calling thread runs on.
  static InitiatorId initiator_here(const machine::Machine& machine) {
    unsigned processor = 0;
    unsigned node = 0;
    if (getcpu(&processor, &node) != 0) return 0;
    const auto name = "cores" + std::to_string(node);
    for (std::size_t i = 0; i < machine.initiators().size(); ++i)
      if (machine.initiators()[i].name == name) return static_cast<InitiatorId>(i);
    return 0;
  }

  machine::Machine machine;
  memory::LedgerPage page;
  memory::Ledger ledger;
  std::optional<OrderedHeap> heap;
};

constinit std::atomic<HbwHeap*> g_hbw{nullptr};
constinit OrderedHeap* g_hbw_own = nullptr;  // locked around fork
pthread_once_t g_hbw_once = PTHREAD_ONCE_INIT;
constinit std::atomic<int> g_hbw_policy{0};  // hbw_policy_t; 0: not set and not used yet

// Fork handlers. The internal heap, which all of these use, is locked after them.
void lock_hbw() {
  const observe::RuntimeScope inside;
  if (auto* const heap = g_hbw.load()) heap->lock();
  memory::BlockArena::lock();
  if (g_hbw_own) g_hbw_own->lock();
}

void unlock_hbw(bool in_child) {
  const observe::RuntimeScope inside;
  if (g_hbw_own) g_hbw_own->unlock();
  memory::BlockArena::unlock();
  if (g_hbw_own && in_child) g_hbw_own->in_child();
  if (auto* const heap = g_hbw.load()) heap->unlock();
}

// Reads MEMKIND_HBW_NODES. Returns false if it is set but is no list of the machine's nodes: then there is no high
// bandwidth memory.
bool read_named_nodes(const machine::Machine& machine, std::optional<std::vector<int>>& nodes) {
  const char* const text = secure_getenv("MEMKIND_HBW_NODES");
  if (!text) return true;
  std::vector<int> all;
  for (const auto& place : machine.places())
    if (place.numa_node >= 0) all.push_back(place.numa_node);
  nodes = machine::parse_node_list(text, all);
  return nodes.has_value();
}

// Makes the heap at the first call of an hbw function. Without a machine with NUMA nodes it stays null.
void create_hbw_heap() {
  const observe::RuntimeScope inside;
  try {
    const bool is_active = ensure_started() != nullptr;
    auto* ordered = ordered_heap();
    // Runs in virtual time or with spilled memory do not place by orderings.
    if (!ordered && is_active) return;
    if (!ordered) {
      auto machine = machine::read_node_machine();
      if (!machine) return;
      ordered = &*(new ProcessHeap(std::move(*machine)))->heap;
      g_hbw_own = ordered;
    }
    std::optional<std::vector<int>> nodes;
    if (!read_named_nodes(ordered->machine(), nodes)) return;
    g_hbw.store(new HbwHeap(*ordered, nodes), std::memory_order_release);
    pthread_atfork(
        lock_hbw, [] { unlock_hbw(false); }, [] { unlock_hbw(true); });
  } catch (const std::exception&) {  // no memory: behaves as without high bandwidth memory
  }
}

HbwHeap* hbw_heap() {
  if (auto* const made = g_hbw.load(std::memory_order_acquire)) return made;
  pthread_once(&g_hbw_once, create_hbw_heap);
  return g_hbw.load(std::memory_order_acquire);
}

// Returns the policy, which is fixed from the first allocation on.
Policy policy_now() {
  int none = 0;
  g_hbw_policy.compare_exchange_strong(none, HBW_POLICY_PREFERRED);
  switch (g_hbw_policy.load()) {
    case HBW_POLICY_BIND:
      return Policy::bind;
    case HBW_POLICY_BIND_ALL:
      return Policy::bind_all;
    case HBW_POLICY_INTERLEAVE:
      return Policy::interleave;
    default:
      return Policy::preferred;
  }
}

// Allocates by the policy. Returns null, without setting errno, if its places are full.
void* allocate_hbw(std::size_t size, std::size_t alignment, bool zeros) {
  const auto by = policy_now();
  if (auto* const heap = hbw_heap()) {
    const observe::RuntimeScope inside;
    const ErrnoScope errno_scope;
    void* const block = size <= PTRDIFF_MAX ? heap->allocate(by, size, alignment, zeros) : nullptr;
    if (block) return block;
  }
  if (by != Policy::preferred) return nullptr;
  if (zeros) return calloc(1, size);
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}

void* set_enomem(void* block) {
  if (!block) errno = ENOMEM;
  return block;
}

std::size_t size_of_hbw(void* block) {
  if (auto* const heap = hbw_heap()) {
    const observe::RuntimeScope inside;
    if (const auto size = heap->size_of(block)) return size;
  }
  return malloc_usable_size(block);
}

int allocate_hbw_aligned(void** to, std::size_t alignment, std::size_t size, hbw_pagesize_t pagesize) {
  constexpr std::size_t k_huge = std::size_t{2} << 20;
  constexpr std::size_t k_giant = std::size_t{1} << 30;
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  if (pagesize < HBW_PAGESIZE_4KB || pagesize >= HBW_PAGESIZE_MAX_VALUE) return EINVAL;
  const auto by = policy_now();
  if (pagesize != HBW_PAGESIZE_4KB && by == Policy::interleave) return EINVAL;
  if (pagesize == HBW_PAGESIZE_1GB_STRICT && size % k_giant != 0) return EINVAL;
  void* block = nullptr;
  if (size > 0) {
    if (pagesize == HBW_PAGESIZE_4KB) {
      block = allocate_hbw(size, std::max(alignment, k_natural), false);
    } else if (auto* const heap = hbw_heap()) {
      const observe::RuntimeScope inside;
      block = heap->allocate_pages(by, size, alignment, pagesize == HBW_PAGESIZE_2MB ? k_huge : k_giant);
    }
    if (!block) return ENOMEM;
  }
  *to = block;
  return 0;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

int hbw_check_available(void) {
  const auto* const heap = agent::hbw_heap();
  return heap && !heap->fast().empty() ? 0 : ENODEV;
}

hbw_policy_t hbw_get_policy(void) {
  const int policy = agent::g_hbw_policy.load();
  return policy == 0 ? HBW_POLICY_PREFERRED : static_cast<hbw_policy_t>(policy);
}

int hbw_set_policy(hbw_policy_t mode) {
  if (mode < HBW_POLICY_BIND || mode > HBW_POLICY_BIND_ALL) return EINVAL;
  int none = 0;
  return agent::g_hbw_policy.compare_exchange_strong(none, mode) ? 0 : EPERM;
}

void* hbw_malloc(size_t size) {
  return size == 0 ? nullptr : agent::set_enomem(agent::allocate_hbw(size, agent::k_natural, false));
}

void* hbw_calloc(size_t nmemb, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(nmemb, size, &total)) return agent::set_enomem(nullptr);
  return total == 0 ? nullptr : agent::set_enomem(agent::allocate_hbw(total, agent::k_natural, true));
}

void* hbw_realloc(void* ptr, size_t size) {
  if (!ptr) return hbw_malloc(size);
  if (size == 0) {
    hbw_free(ptr);
    return nullptr;
  }
  const auto had = agent::size_of_hbw(ptr);
  if (size <= had && size >= had / 2) return ptr;
  void* const block = hbw_malloc(size);
  if (!block) return nullptr;
  memcpy(block, ptr, std::min(had, size));
  hbw_free(ptr);
  return block;
}

void hbw_free(void* ptr) {
  if (!ptr) return;
  if (auto* const heap = agent::hbw_heap()) {
    const terrace::observe::RuntimeScope inside;
    const terrace::ErrnoScope errno_scope;
    if (heap->release(ptr)) return;
  }
  free(ptr);
}

size_t hbw_malloc_usable_size(void* ptr) { return ptr ? agent::size_of_hbw(ptr) : 0; }

int hbw_posix_memalign(void** memptr, size_t alignment, size_t size) {
  return agent::allocate_hbw_aligned(memptr, alignment, size, HBW_PAGESIZE_4KB);
}

int hbw_posix_memalign_psize(void** memptr, size_t alignment, size_t size, hbw_pagesize_t pagesize) {
  return agent::allocate_hbw_aligned(memptr, alignment, size, pagesize);
}

int hbw_verify_memory_region(void* addr, size_t size, int flags) {
  if (!addr || size == 0 || (flags & ~HBW_TOUCH_PAGES) != 0) return EINVAL;
  const auto address = reinterpret_cast<std::uint64_t>(addr);
  if (address + size < address) return EFAULT;
  const auto* const heap = agent::hbw_heap();
  const terrace::observe::RuntimeScope inside;
  switch (agent::verify_pages(address, size, (flags & HBW_TOUCH_PAGES) != 0,
                              heap ? heap->fast_nodes() : std::span<const int>{})) {
    case agent::PageVerdict::fast:
      return 0;
    case agent::PageVerdict::not_mapped:
      return EFAULT;
    default:
      return -1;
  }
}

}  // extern "C"
