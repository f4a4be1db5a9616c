// SPDX-License-Identifier: Apache-2.0
// Declares the pool of huge pages for spilled chunks, with a limit on their number, and of slots: address ranges
// that hold the pages of unmapped chunks. Pages move between slots and chunk addresses by UFFDIO_MOVE, without a
// copy. Used by the pager thread only; does not allocate after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/rounding.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

class SpillPool {
 public:
  static constexpr std::size_t k_chunk = k_huge_page;
  using Slot = std::uint32_t;
  static constexpr Slot k_none = ~Slot{0};

  // Reserves address space for at most `max_slots` slots, fewer where the system gives less. Throws Error{failed}.
  SpillPool(Userfault& faults, std::size_t max_slots);
  ~SpillPool();
  SpillPool(const SpillPool&) = delete;
  SpillPool& operator=(const SpillPool&) = delete;

  // Return the number of pages in use, slots and chunk addresses together, and its limit.
  [[nodiscard]] std::size_t pages() const noexcept { return pages_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  void set_limit(std::size_t pages) noexcept { limit_ = pages; }
  // Returns the number of slots with an unused page, plus the pages that the limit still allows.
  [[nodiscard]] std::size_t num_free() const noexcept {
    return free_.size() + (limit_ > pages_ ? limit_ - pages_ : 0);
  }

  // Returns whether unmap_from() has a slot to move a page to.
  [[nodiscard]] bool has_empty_slot() const noexcept { return !empty_.empty(); }
  // Returns a slot with a page: an unused one, else a new one; beyond the limit only if `forced`. k_none if there
  // is none.
  Slot acquire(bool forced = false) noexcept;
  // Marks the slot's page as unused.
  void release(Slot slot) noexcept;
  // Frees unused pages beyond the limit.
  void shrink() noexcept;

  // Zeroes the slot's page, unless it is new and still zero.
  void zero_fill(Slot slot) noexcept;
  [[nodiscard]] std::uint64_t address(Slot slot) const noexcept { return slots_ + slot * k_chunk; }
  // Moves the slot's page to the address `place`. Returns 0, or an errno value with the page back in its slot.
  // Wakes no thread.
  int map_to(Slot slot, std::uint64_t place) noexcept;
  // Moves the page at the address `place` to a slot. Returns k_none, with nothing changed, where that is
  // impossible now.
  Slot unmap_from(std::uint64_t place) noexcept;
  // Accounts for a slot's content that was copied to new pages at the chunk's address; releases the slot.
  void on_copied(Slot slot) noexcept {
    ++pages_;
    release(slot);
  }
  // Accounts for a mapped chunk's page that was freed.
  void on_page_lost() noexcept { --pages_; }

 private:
  Slot take_empty_slot() noexcept;
  bool make_page(Slot slot) noexcept;
  [[nodiscard]] bool break_sharing(std::uint64_t place) const noexcept;

  Userfault& faults_;
  std::uint64_t mapped_ = 0;
  std::size_t mapped_size_ = 0;
  std::uint64_t scratch_ = 0;  // not watched: new pages are faulted in here
  std::uint64_t slots_ = 0;
  std::size_t pages_ = 0;
  std::size_t limit_ = 0;
  std::vector<Slot> free_;     // with an unused page
  std::vector<Slot> empty_;    // without a page
  std::vector<bool> is_zero_;  // by slot: its page was never used
};

}  // namespace terrace::transfer
