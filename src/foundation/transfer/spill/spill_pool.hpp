// The memory that spilled chunks have when they are in memory: huge pages, of which there are at most so many, and
// the slots of address space in which those lie that are not in their chunk's place.
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

  // At most so many slots. Throws Error{failed} where the system gives no address space.
  SpillPool(Userfault& faults, std::size_t most);
  ~SpillPool();
  SpillPool(const SpillPool&) = delete;
  SpillPool& operator=(const SpillPool&) = delete;

  // Pages that there are, and that there may be.
  [[nodiscard]] std::size_t pages() const noexcept { return pages_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  void set_limit(std::size_t pages) noexcept { limit_ = pages; }
  // Slots with a page that nobody uses, and pages that may still be made.
  [[nodiscard]] std::size_t free() const noexcept {
    return free_.size() + (limit_ > pages_ ? limit_ - pages_ : 0);
  }

  // Whether a page may come from a chunk's place.
  [[nodiscard]] bool has_slot() const noexcept { return !empty_.empty(); }
  // A slot with a page: a free one, else a new one, beyond the limit only where that is `forced`. k_none where
  // there is none.
  Slot take(bool forced = false) noexcept;
  // The slot's page, which nobody uses now, is free.
  void give(Slot slot) noexcept;
  // Pages beyond the limit that are free go back to the system.
  void shrink() noexcept;

  // All zero; a page that was never used is.
  void clear(Slot slot) noexcept;
  [[nodiscard]] std::uint64_t address(Slot slot) const noexcept { return slots_ + slot * k_chunk; }
  // The slot's page goes to a chunk's place; 0 or an errno value, and then it is where it was. Wakes nobody.
  int put(Slot slot, std::uint64_t place) noexcept;
  // The page at a chunk's place goes to a slot. k_none, and nothing changed, where it cannot now.
  Slot fetch(std::uint64_t place) noexcept;
  // The slot's content was copied to the chunk's place, to pages that the system made for it.
  void copied(Slot slot) noexcept {
    ++pages_;
    give(slot);
  }
  // The chunk's page went back to the system.
  void lost() noexcept { --pages_; }

 private:
  Slot empty_slot() noexcept;
  bool make_page(Slot slot) noexcept;
  [[nodiscard]] bool own_pages(std::uint64_t place) const noexcept;

  Userfault& faults_;
  std::uint64_t mapped_ = 0;
  std::size_t mapped_size_ = 0;
  std::uint64_t scratch_ = 0;  // not watched: pages are made here
  std::uint64_t slots_ = 0;
  std::size_t pages_ = 0;
  std::size_t limit_ = 0;
  std::vector<Slot> free_;   // with a page
  std::vector<Slot> empty_;  // without
  std::vector<bool> zero_;   // by slot: its page was never used
};

}  // namespace terrace::transfer
