// Memory that is placed by orderings (memory/ordered/ordered_fill.hpp): blocks of its own, and ranges that the
// program names. Eagerly: pages come at once. Lazily: with the first touch of each chunk, of which threads of ours
// are told (transfer/ordered/touch_traps.hpp).
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
#include "transfer/ordered/touch_traps.hpp"

namespace terrace::agent {

class OrderedHeap final : private transfer::TouchTraps::Handler {
 public:
  // Smaller blocks are left to the next allocator.
  static constexpr std::size_t k_min = k_big_block;
  enum class FillMode : std::uint8_t { eager, on_touch };

  struct Parts {
    const machine::Machine* machine = nullptr;
    InitiatorId initiator = 0;
    memory::Ledger* ledger = nullptr;
    double mark = memory::k_free_watermark;
    FillMode default_fill = FillMode::on_touch;      // of what is allocated without a call for it
    std::function<memory::OrderedCounts*()> counts;  // asked once there is something to count
    void (*enter)() = nullptr;                       // begins a thread of ours
    void (*say)(const char* sentence) = nullptr;
  };
  // What `parts` point to outlives it. Throws Error.
  explicit OrderedHeap(Parts parts);

  // The number of an intent of the machine's; throws Error{not_found}, naming those that there are.
  [[nodiscard]] int find_intent(std::string_view name) const;
  [[nodiscard]] const char* name_of(int intent) const noexcept { return order_of(intent).name.c_str(); }
  // Of the threads that have none of their own; -1: none.
  [[nodiscard]] int default_intent() const noexcept { return default_intent_; }
  // Something was placed, or was to be.
  [[nodiscard]] bool has_placed() const noexcept { return state_.load(std::memory_order_acquire) != nullptr; }
  void set_default_intent(int intent) noexcept { default_intent_ = intent; }
  [[nodiscard]] FillMode default_fill() const noexcept { return parts_.default_fill; }
  // One more ordering, for a front door of its own: places, best first. Its number serves as an intent's does; -1
  // where there are too many. Of one thread at a time.
  enum class Rule : std::uint8_t {
    spill,       // as an intent: what has no room anywhere is left to the kernel
    strict,      // it is in these places, one after another, or there is no block
    interleave,  // it is in these places in turn, page by page, or there is no block; at once
  };
  int add_ordering(std::string name, std::vector<PlaceId> places, Rule rule);
  [[nodiscard]] const machine::Machine& machine() const noexcept { return *parts_.machine; }
  [[nodiscard]] InitiatorId initiator() const noexcept { return parts_.initiator; }

  // nullptr where there is no room. Without `zeros` it may have what was in it when it was freed. `error`: an
  // errno value where not all of it is as the ordering says.
  void* allocate(std::size_t size, std::size_t alignment, int intent, FillMode when, bool zeros = true,
                 int* error = nullptr) noexcept;
  // Small ones (SmallBlocks::fits) come from arenas, whose pages are there.
  [[nodiscard]] SmallBlocks& small() noexcept { return small_; }
  [[nodiscard]] const SmallBlocks& small() const noexcept { return small_; }
  // Whole untouched pages of somebody's, at once. False, and nothing is left of it, where a strict ordering has no
  // room.
  bool place(std::uint64_t address, std::uint64_t size, int intent) noexcept;
  // False, and nothing happened, where it is none of these blocks.
  bool release(void* block) noexcept;
  // Whole pages of private memory, there or not yet: eagerly. 0 or an errno value.
  int apply(std::uint64_t address, std::uint64_t size, int intent) noexcept;

  [[nodiscard]] bool contains(const void* block) const noexcept;
  [[nodiscard]] std::size_t size_of(const void* block) const noexcept;
  // Whether the address is in the space of these blocks, or of small ones, and no block begins there. Not where
  // others may map: of what was freed after leave().
  [[nodiscard]] bool is_invalid_block(const void* address) const noexcept;
  // Null where the address was not placed.
  [[nodiscard]] const char* where(const void* address) const noexcept;
  // What is known of the range. Throws std::bad_alloc.
  using Ranges = std::vector<memory::PlacedRanges::Range>;
  [[nodiscard]] Ranges placed(std::uint64_t address, std::uint64_t size) const;

  // The program's mappings. Whether apply() may have placed some of the range: takes no lock.
  [[nodiscard]] bool may_have_applied(std::uint64_t address, std::uint64_t size) const noexcept {
    return address < applied_end_.load(std::memory_order_relaxed) &&
           address + size > applied_begin_.load(std::memory_order_relaxed);
  }
  // Waits until nothing in the range is being filled.
  void await_filled(std::uint64_t address, std::uint64_t size) noexcept;
  // Whole pages that are not mapped any more, or are something else: they are on no account.
  void on_unmapped(std::uint64_t address, std::uint64_t size) noexcept;
  // Around a call that moves a mapping or changes its size: what was placed there is taken out of the list, and
  // stays on the account; put() has it at its new address, and gives back what is beyond the new size.
  [[nodiscard]] Ranges detach_ranges(std::uint64_t address, std::uint64_t size) noexcept;
  void reattach_ranges(const Ranges& ranges, std::uint64_t from, std::uint64_t to, std::uint64_t size) noexcept;

  // Nothing is placed from now on, nobody waits for touches, no account is kept, and blocks that are released are
  // unmapped: the process may make no system calls of ours.
  void shut_down() noexcept;
  [[nodiscard]] bool is_shut_down() const noexcept { return is_shut_down_.load(std::memory_order_relaxed); }

  // Around fork. In a child nobody waits for touches: what is allocated there lazily is preferred in a place.
  void lock() const;
  void unlock() const;
  void in_child() noexcept;

 private:
  struct State;
  struct Block {
    std::uint64_t size = 0;
    int intent = 0;
    FillMode when = FillMode::eager;
    bool is_cacheable = false;  // when it is freed: it did not have to be zeros, and all of it is by its intent
    std::size_t left = 0;       // places of the ordering that it has left
  };
  class PlacementRecorder;
  struct Order {
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
  bool fill_by_rule(const Order& order, std::uint64_t address, std::uint64_t size, int intent, std::size_t* left,
                    int* error) noexcept;
  int interleave(const Order& order, std::uint64_t address, std::uint64_t size, int intent) noexcept;
  State* ensure_state() noexcept;
  memory::OrderedFill::Outcome fill(std::uint64_t address, std::uint64_t size, int intent,
                                    memory::OrderedFill::Content content, std::size_t left = 0) noexcept;
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
  void on_first_touch(std::uint64_t address) noexcept override;
  void on_thread_start() noexcept override { parts_.enter(); }

  Parts parts_;
  int default_intent_ = -1;
  std::vector<Order> orders_;  // by intent
  std::array<Order, 4> more_;  // behind them: those that were added
  std::size_t more_count_ = 0;
  SmallBlocks small_{*this};
  mutable std::mutex mutex_;
  std::atomic<bool> is_shut_down_{false};
  std::atomic<State*> state_{nullptr};     // made with the first block or range
  std::map<std::uint64_t, Block> blocks_;  // by address
  std::map<std::uint64_t, Block> freed_;   // those that are kept
  FreeBlockCache cache_;
  std::map<std::uint64_t, std::uint64_t> filling_;  // address and size of what is being filled just now
  memory::PlacedRanges placed_;
  // All that apply() ever placed is between these.
  std::atomic<std::uint64_t> applied_begin_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> applied_end_{0};
  std::uint64_t applied_since_ = 0;  // bytes since the kernel was asked what is still there,
  std::uint64_t applied_there_ = 0;  // and what was there then
};

}  // namespace terrace::agent
