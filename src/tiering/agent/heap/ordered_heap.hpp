// SPDX-License-Identifier: Apache-2.0
// Places memory by intent: own blocks, and ranges that the program passes to terrace_apply(). An intent
// ("bandwidth", "latency") selects an ordering of places (memories, best first), which is filled by the rule of
// memory/ordered/ordered_fill.hpp. Used by the interposed malloc and mmap, terrace.h and hbwmalloc.h.
//
// FillMode::eager populates pages at allocation. FillMode::on_touch populates each chunk at its first touch, on
// Terrace's own threads, which userfaultfd notifies (transfer/ordered/touch_traps.hpp).
//
// Implementation: ordered_heap.cpp fills memory, ordered_blocks.cpp manages blocks, ordered_ranges.cpp tracks
// ranges and where data is, ordered_rules.cpp implements strict and interleaved orderings. Thread-safe unless
// stated.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "agent/heap/free_block_cache.hpp"
#include "agent/heap/small_blocks.hpp"
#include "core/big_block.hpp"
#include "machine/machine.hpp"
#include "memory/ledger.hpp"
#include "memory/ordered/numa_places.hpp"
#include "memory/ordered/ordered_counts.hpp"
#include "memory/ordered/ordered_fill.hpp"
#include "memory/ordered/placed_ranges.hpp"
#include "memory/region_space.hpp"

namespace terrace::agent {

class OrderedHeap final {
 public:
  // Smaller blocks come from the next allocator.
  static constexpr std::size_t k_min = k_big_block;
  enum class FillMode : std::uint8_t { eager, on_touch };

  struct Parts {
    const machine::Machine* machine = nullptr;
    InitiatorId initiator = 0;
    memory::Ledger* ledger = nullptr;
    double mark = memory::k_free_watermark;
    FillMode default_fill = FillMode::on_touch;      // of allocations without an explicit intent call
    std::function<memory::OrderedCounts*()> counts;  // called once, at the first placement; may return null
    void (*enter)() = nullptr;                       // runs at the start of each of Terrace's threads
    void (*say)(const char* sentence) = nullptr;
  };
  // Borrows everything that `parts` point to. Throws Error.
  explicit OrderedHeap(Parts parts);

  // Returns the number of an intent of the machine. Throws Error{not_found}, which lists the known intents.
  [[nodiscard]] int find_intent(std::string_view name) const;
  [[nodiscard]] const char* name_of(int intent) const noexcept { return order_of(intent).name.c_str(); }
  // Returns the default intent for threads without their own, or -1.
  [[nodiscard]] int default_intent() const noexcept { return default_intent_; }
  // Returns whether anything was placed, or was attempted to be.
  [[nodiscard]] bool has_placed() const noexcept { return state_.load(std::memory_order_acquire) != nullptr; }
  void set_default_intent(int intent) noexcept { default_intent_ = intent; }
  [[nodiscard]] FillMode default_fill() const noexcept { return parts_.default_fill; }
  // Adds an ordering (places, best first) for an API with its own policies. Returns its number, which can be used
  // like an intent's, or -1 if there are too many. Not thread-safe.
  enum class Rule : std::uint8_t {
    spill,       // as intents: memory that fits nowhere is left to the kernel's first touch
    strict,      // only in these places, filled in order; else allocation fails
    interleave,  // in these places round-robin by page, eagerly; else allocation fails
  };
  int add_ordering(std::string name, std::vector<PlaceId> places, Rule rule);
  [[nodiscard]] const machine::Machine& machine() const noexcept { return *parts_.machine; }
  [[nodiscard]] InitiatorId initiator() const noexcept { return parts_.initiator; }

  // Returns null if there is no capacity. Without `zeros` the block may contain data of a freed block. `error`
  // receives an errno value if a part of the block could not be placed by the ordering.
  void* allocate(std::size_t size, std::size_t alignment, int intent, FillMode when, bool zeros = true,
                 int* error = nullptr) noexcept;
  // Returns the allocator of small blocks (SmallBlocks::fits), whose arenas are populated.
  [[nodiscard]] SmallBlocks& small() noexcept { return small_; }
  [[nodiscard]] const SmallBlocks& small() const noexcept { return small_; }
  // Places whole, untouched pages of another owner eagerly. Returns false, without effect, if a strict ordering
  // has no capacity.
  bool place(std::uint64_t address, std::uint64_t size, int intent) noexcept;
  // Returns false, without effect, if the block is not of this heap.
  bool release(void* block) noexcept;
  // Places whole pages of private memory eagerly; populated pages are migrated. Returns 0 or an errno value.
  int apply(std::uint64_t address, std::uint64_t size, int intent) noexcept;

  [[nodiscard]] bool contains(const void* block) const noexcept;
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;
  // Returns whether the address is in this heap's address space, or that of small blocks, and no block begins
  // there. False for blocks that were freed after shut_down(), where others may have mapped memory.
  [[nodiscard]] bool is_invalid_block(const void* address) const noexcept;
  // Returns the name of the address's place, or null if the address was not placed.
  [[nodiscard]] const char* where(const void* address) const noexcept;
  // Returns the placed parts of the range. Throws std::bad_alloc.
  using Ranges = std::vector<memory::PlacedRanges::Range>;
  [[nodiscard]] Ranges placed(std::uint64_t address, std::uint64_t size) const;

  // Returns whether apply() may have placed some of the range, a mapping of the program. Takes no lock.
  [[nodiscard]] bool may_have_applied(std::uint64_t address, std::uint64_t size) const noexcept {
    return address < applied_end_.load(std::memory_order_relaxed) &&
           address + size > applied_begin_.load(std::memory_order_relaxed);
  }
  // Waits until no thread is filling a part of the range.
  void await_filled(std::uint64_t address, std::uint64_t size) noexcept;
  // Removes whole pages from the ledger after the program has unmapped them or mapped over them.
  void on_unmapped(std::uint64_t address, std::uint64_t size) noexcept;
  // Bracket a call that moves or resizes a mapping. detach_ranges() removes its ranges from the index but keeps
  // them charged to the ledger. reattach_ranges() adds them at the new address and releases those beyond the new
  // size.
  [[nodiscard]] Ranges detach_ranges(std::uint64_t address, std::uint64_t size) noexcept;
  void reattach_ranges(const Ranges& ranges, std::uint64_t from, std::uint64_t to, std::uint64_t size) noexcept;

  // Stops placement, touch traps and accounting, because the process may soon be unable to make Terrace's system
  // calls. Released blocks are then unmapped.
  void shut_down() noexcept;
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_.load(std::memory_order_relaxed); }

  // For fork(2). A child has no touch traps: its lazy allocations get a preferred place (MPOL_PREFERRED).
  void lock() const;
  void unlock() const;
  void in_child() noexcept;

 private:
  struct State;
  struct Block {
    std::uint64_t size = 0;
    int intent = 0;
    FillMode when = FillMode::eager;
    bool is_cacheable = false;  // after release: contents need not be zeros, and all of it is placed by its intent
    std::size_t left = 0;       // number of leading places of the ordering that were full
  };
  class PlacementRecorder;
  struct Order {  // an ordering: an intent's, or one of add_ordering()
    std::string name;
    std::vector<PlaceId> places;
    Rule rule = Rule::spill;
  };

  [[nodiscard]] const Order& order_of(int intent) const noexcept {
    const auto at = static_cast<std::size_t>(intent);
    return at < orders_.size() ? orders_[at] : more_[at - orders_.size()];
  }
  [[nodiscard]] bool has_free_capacity(std::uint64_t size, const Order& order) noexcept;
  [[nodiscard]] bool is_within(std::uint64_t address, std::uint64_t size, const Order& order) noexcept;
  bool fill_by_rule(const Order& order, std::uint64_t address, std::uint64_t size, int intent,
                    std::size_t* num_full, int* error) noexcept;
  int interleave(const Order& order, std::uint64_t address, std::uint64_t size, int intent) noexcept;
  State* ensure_state() noexcept;
  memory::OrderedFill::Outcome fill(std::uint64_t address, std::uint64_t size, int intent,
                                    memory::OrderedFill::Content content, std::size_t num_full = 0) noexcept;
  void* take_cached(std::size_t size, std::size_t alignment, int intent, FillMode when) noexcept;
  void* allocate_new(std::size_t size, std::size_t alignment, Block block, int* error) noexcept;
  [[nodiscard]] bool has_cache_headroom(int intent) noexcept;
  void trim_cache(std::uint64_t bytes) noexcept;
  bool discard(std::uint64_t address, std::uint64_t size) noexcept;
  [[nodiscard]] bool is_filling(std::uint64_t address, std::uint64_t size) const noexcept;
  bool claim(std::uint64_t address, std::uint64_t size);
  [[nodiscard]] bool has_policy(std::uint64_t address, PlaceId place) const noexcept;
  void note_applied(std::uint64_t address, std::uint64_t size) noexcept;
  void forget_unmapped(std::uint64_t more);
  void release_accounting(const Ranges& ranges) noexcept;
  void arm_touch_traps(std::uint64_t address, std::uint64_t size, int intent) noexcept;
  void forget(std::uint64_t address, std::uint64_t size) noexcept;
  void count(const memory::PlacedRanges::Range& range, bool more) noexcept;
  void on_first_touch(std::uint64_t address) noexcept;

  Parts parts_;
  int default_intent_ = -1;
  std::vector<Order> orders_;  // by intent
  std::array<Order, 4> more_;  // added by add_ordering(); numbered after orders_
  std::size_t more_count_ = 0;
  SmallBlocks small_{*this};
  mutable std::mutex mutex_;
  std::atomic<bool> is_shut_down_{false};
  std::atomic<State*> state_{nullptr};     // made at the first placement
  std::map<std::uint64_t, Block> blocks_;  // by address
  std::map<std::uint64_t, Block> freed_;   // cached in cache_
  FreeBlockCache cache_;
  std::map<std::uint64_t, std::uint64_t> filling_;  // ranges being filled: size by address
  memory::PlacedRanges placed_;
  // Bounds of all addresses that apply() has ever placed.
  std::atomic<std::uint64_t> applied_begin_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> applied_end_{0};
  std::uint64_t applied_since_ = 0;  // bytes applied since the kernel was last queried for what is still mapped
  std::uint64_t applied_there_ = 0;  // bytes that were still mapped then
};

}  // namespace terrace::agent
