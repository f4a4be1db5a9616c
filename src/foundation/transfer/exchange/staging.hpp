// Memory beside the program's, through which its pages are exchanged: slots of 2 MiB of address space, each empty
// or filled with pages of one node. Pages that leave a chunk stay in a slot and serve the next chunk that goes to
// their node: they are not zeroed again.
//
// A slot is for small pages or for one huge page: where small ones were the kernel keeps a table of them, and
// splits what comes there afterwards.
//
// Everything is allocated when it is made; nothing throws afterwards. Safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/rounding.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {

// Who answers for pages that stay in slots while nobody uses them.
class SlotAccounting {
 public:
  virtual ~SlotAccounting() = default;
  virtual bool charge(int node, std::size_t size) noexcept = 0;  // false: they shall not stay
  virtual void uncharge(int node, std::size_t size) noexcept = 0;
};

class Staging {
 public:
  static constexpr std::size_t k_slot = k_huge_page;

  struct Slot {
    std::uint64_t address = 0;
    std::size_t filled = 0;  // bytes from its beginning that have pages; 0 for an empty one
    int node = -1;           // of these pages
    bool huge = false;       // for one huge page
    bool acquired = false;      // by a thread
    bool is_charged = false;    // on the account
    std::uint64_t last_used = 0;  // when it was filled, in fillings
    [[nodiscard]] std::uint64_t tail(std::size_t size) const { return address + filled - size; }
  };

  // Watched ranges for `slots` slots of each kind, of which at most `keep` in all stay filled while nobody uses
  // them, as the account allows. Throws Error{failed} when the system gives no address space.
  Staging(Userfault& faults, SlotAccounting& accounting, std::size_t slots, std::size_t max_cached);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // An empty one; null where all are taken.
  [[nodiscard]] Slot* acquire_empty(bool huge) noexcept;
  // One with at least so many bytes of pages on the node, in one huge page or in small ones: one that was filled,
  // else new pages. Null, with the reason in `error`, where the node has none: pages elsewhere are given back.
  [[nodiscard]] Slot* acquire_filled(std::size_t size, bool huge, int node, int& error) noexcept;
  // It stays filled, if not too many are; until the account is settled nobody answers for that.
  void release_slot(Slot& slot) noexcept;
  // The chunks' own room is on the account: what is filled is kept, or given back.
  void settle_accounting() noexcept;
  // Gives back the node's pages that nobody uses: somebody needs the room. False where there were none.
  bool trim(int node) noexcept;

  // What is done with taken ones. The last pages of `filled` went to a range whose own went to `empty`.
  void record_exchange(Slot& empty, Slot& filled, std::size_t size) noexcept;
  // Gives its pages back to the system.
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
  std::uint64_t scratch_ = 0;  // two slots' size, one for each kind, not watched: pages are made here
  std::vector<Slot> slots_;
  std::uint64_t num_releases_ = 0;
  std::mutex mutex_;          // of slots_
  std::mutex scratch_mutex_;  // of what is at scratch_
};

}  // namespace terrace::transfer
