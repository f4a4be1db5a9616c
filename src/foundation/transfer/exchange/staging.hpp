// SPDX-License-Identifier: Apache-2.0
// Declares the staging memory of page exchanges and sentinels: 2 MiB slots of address space, each empty or filled
// with pages of one node. Pages that were exchanged out of a chunk stay cached in a slot for the next chunk that
// migrates to their node, which saves zeroing new pages.
//
// A slot is for base pages or for one huge page: a range that held base pages keeps a page table, in which the
// kernel would split a huge page.
//
// Thread-safe. All memory is allocated by the constructor; nothing else throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/rounding.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

// Accounting of the pages that stay cached in unused slots.
class SlotAccounting {
 public:
  virtual ~SlotAccounting() = default;
  virtual bool charge(int node, std::size_t size) noexcept = 0;  // false: do not cache them
  virtual void uncharge(int node, std::size_t size) noexcept = 0;
};

class Staging {
 public:
  static constexpr std::size_t k_slot = k_huge_page;

  struct Slot {
    std::uint64_t address = 0;
    std::size_t filled = 0;       // bytes with pages, from the start; 0: empty
    int node = -1;                // of these pages
    bool huge = false;            // slot for one huge page
    bool acquired = false;        // in use by a thread
    bool is_charged = false;      // its pages are charged to the accounting
    std::uint64_t last_used = 0;  // value of num_releases_ at its latest release (LRU)
    // Returns the address of the last `size` filled bytes.
    [[nodiscard]] std::uint64_t tail(std::size_t size) const { return address + filled - size; }
  };

  // Registers `slots` slots of each kind with `faults`. At most `max_cached` unused slots stay filled, as far as
  // the accounting allows. References are non-owning. Throws Error{failed} where the system gives no address
  // space.
  Staging(Userfault& faults, SlotAccounting& accounting, std::size_t slots, std::size_t max_cached);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Returns an empty slot, or null if all are in use.
  [[nodiscard]] Slot* acquire_empty(bool huge) noexcept;
  // Returns a slot with at least `size` bytes of pages on the node, as one huge page or as base pages: cached
  // pages if possible, else new ones. Returns null, with an errno value in `error`, where the node has no such
  // pages; pages that the kernel allocated on another node are freed.
  [[nodiscard]] Slot* acquire_filled(std::size_t size, bool huge, int node, int& error) noexcept;
  // Releases a slot; it stays filled if at most `max_cached` are. Its pages are charged by settle_accounting()
  // only.
  void release_slot(Slot& slot) noexcept;
  // Charges the cached pages to the accounting, or frees them. Call it after the chunks themselves are charged.
  void settle_accounting() noexcept;
  // Frees the node's cached pages. Returns false if there were none.
  bool trim(int node) noexcept;

  // Records an exchange between two acquired slots: the tail of `filled` was moved to a range whose pages are in
  // `empty` now.
  void record_exchange(Slot& empty, Slot& filled, std::size_t size) noexcept;
  // Frees the slot's pages.
  void clear(Slot& slot) noexcept;

 private:
  Slot* acquire_matching(std::size_t filled, bool huge, int node, bool more = false) noexcept;
  int fill(Slot& slot, std::size_t size, int node) noexcept;
  void map_scratch(bool huge) noexcept;
  Slot* oldest_beyond_limit() noexcept;
  void acquire(Slot& slot) noexcept;
  void drop_pages(Slot& slot) noexcept;

  [[nodiscard]] std::uint64_t scratch(bool huge) const noexcept { return scratch_ + (huge ? k_slot : 0); }

  Userfault& faults_;
  SlotAccounting& accounting_;
  std::size_t max_cached_;
  std::uint64_t mapped_ = 0;
  std::size_t mapped_size_ = 0;
  std::uint64_t scratch_ = 0;  // one slot of each kind, unwatched: new pages are faulted in here
  std::vector<Slot> slots_;
  std::uint64_t num_releases_ = 0;
  std::mutex mutex_;          // guards slots_
  std::mutex scratch_mutex_;  // guards the scratch memory
};

}  // namespace terrace::transfer
