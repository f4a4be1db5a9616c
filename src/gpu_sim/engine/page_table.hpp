// SPDX-License-Identifier: Apache-2.0
// Models the page table of a simulated GPU and its translation, for the SMs and PageMover: frames of each memory,
// TLBs of the SMs and a shared one, page walkers, and the queue of page faults. An SM receives a translation as an
// event. For a moving page the event comes after the move, for a page that the GPU may not access after the driver
// has handled the fault.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

struct FaultCounts {
  std::uint64_t faults = 0;  // pages
  std::uint64_t batches = 0;
};

// Queues page faults: accesses of the GPU to pages that are not mapped for it. As in NVIDIA's driver (T. Allen and
// R. Ge, "In-depth analyses of unified virtual memory system for GPU accelerated computing", SC 2021), faults are
// handled in batches, one after the other, each for a time that the machine file states. The accesses wait
// meanwhile.
class FaultQueue {
 public:
  FaultQueue(const machine::Gpu& gpu, EventWheel& events) : gpu_(gpu), events_(events) {}

  void add(std::uint32_t page);
  // Returns the pages of the batch that has been handled, and begins the next batch. Call on an event of kind
  // faults.
  std::vector<std::uint32_t> take_batch();
  [[nodiscard]] const FaultCounts& counts() const { return counts_; }

 private:
  void begin_batch();

  const machine::Gpu& gpu_;
  EventWheel& events_;
  std::deque<std::uint32_t> queue_;
  std::vector<std::uint32_t> batch_;  // being handled; empty: none
  FaultCounts counts_;
};

// A fully associative translation lookaside buffer with LRU replacement.
class Tlb {
 public:
  explicit Tlb(std::uint32_t entries) : entries_(entries) {}

  static constexpr std::uint32_t k_unknown = 0xffffffff;
  // Returns the value of the page number, or k_unknown. Counts as a use.
  std::uint32_t look_up(std::uint64_t number) {
    if (number == last_number_) return last_value_;
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return k_unknown;
    order_.splice(order_.begin(), order_, found->second);
    last_number_ = number;
    return last_value_ = found->second->value;
  }
  void put(std::uint64_t number, std::uint32_t value) {
    if (look_up(number) != k_unknown) return;
    if (order_.size() == entries_) {
      forget(order_.back().number);
    }
    order_.push_front({number, value});
    by_number_[number] = order_.begin();
  }
  void forget(std::uint64_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return;
    order_.erase(found->second);
    by_number_.erase(found);
    if (last_number_ == number) last_number_ = ~std::uint64_t{0};
  }

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint32_t value = 0;
  };
  std::size_t entries_;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_number_;
  std::uint64_t last_number_ = ~std::uint64_t{0};  // a repeated lookup needs no search
  std::uint32_t last_value_ = k_unknown;
};

inline constexpr std::uint32_t k_no_page = 0xffffffff;

struct Page {
  std::uint64_t number = 0;      // its address divided by the page size
  std::uint32_t allocation = 0;  // first allocation that it belongs to
  std::uint32_t frame = 0;       // in its memory
  std::uint8_t memory = 0;
  bool moving = false;
  bool move_requested = false;        // a move is queued
  std::uint8_t requested_memory = 0;  // target memory of the queued move
  bool mapped = true;                 // for the GPU
  bool faulted = false;               // accessed while unmapped, and not yet handled
  bool translated = false;            // a TLB may hold it
  bool walked = false;                // accessed bit: a walk reached it since the bit was cleared
  std::uint32_t in_flight = 0;        // requests on their way to its frame or back
  std::uint32_t touches = 0;          // line parts that SMs requested since the last report
  std::uint64_t accesses = 0;         // line parts that SMs requested

  [[nodiscard]] bool usable() const { return mapped && !moving; }
};

class PageTable {
 public:
  PageTable(const machine::Gpu& gpu, EventWheel& events, FaultQueue& faults);

  // Adds an allocation's pages in free frames of the memories `memory_of_new` (repeated as needed). Pages shared
  // with an earlier allocation stay where they are. `far_mapped`: pages beyond memory 0 are mapped for the GPU.
  // Returns the first new page and the number of new pages.
  struct Added {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  Added add(const Allocation& allocation, std::span<const std::uint8_t> memory_of_new, bool far_mapped = true);
  [[nodiscard]] std::uint32_t find(std::uint64_t page_number) const;  // k_no_page: in no allocation
  [[nodiscard]] const Page& operator[](std::uint32_t page) const { return pages_[page]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(pages_.size()); }

  // Looks up an SM's own TLB. Returns the page, or k_no_page.
  std::uint32_t look_up(std::uint32_t processor, std::uint64_t page_number) {
    return l1_[processor].look_up(page_number);
  }
  // Starts a page walk after a TLB miss. An event `translated` with this page follows, when the page is usable at
  // the earliest.
  void walk(std::uint32_t processor, std::uint32_t page);
  // Handles such an event. Returns whether the translation is available; false if the page moves or may not be
  // accessed.
  bool on_translated(std::uint32_t processor, std::uint32_t page);

  // Unmaps a page that begins to move. Returns whether a TLB may hold it.
  bool unmap(std::uint32_t page);
  // Maps the page at its new frame; `mapped`: the GPU may access it.
  void map(std::uint32_t page, std::uint8_t memory, std::uint32_t frame, bool mapped);
  // Protects the page, so that the GPU's next access faults. Returns whether a TLB may hold it.
  bool protect(std::uint32_t page);
  // Maps the page for the GPU where it is.
  void unprotect(std::uint32_t page);

  // Counts the requests that are in flight to the page's frame.
  void on_sent(std::uint32_t page) { ++pages_[page].in_flight; }
  void on_answered(std::uint32_t page) { --pages_[page].in_flight; }
  // Counts an access of an SM. Returns true at every `touches`th access to a page beyond memory 0.
  bool count_access(std::uint32_t page, std::uint32_t touches);
  void reset_touches(std::uint32_t page) { pages_[page].touches = 0; }
  // Returns the pages whose accessed bit is set, and clears the bits.
  std::vector<std::uint32_t> take_walked();
  // Sets, or clears, the queued move of a page.
  void set_requested_move(std::uint32_t page, std::uint8_t memory);
  void clear_requested_move(std::uint32_t page) { pages_[page].move_requested = false; }

  // Takes a free frame of a memory.
  std::uint32_t take_frame(std::uint8_t memory);
  void give_frame(std::uint8_t memory, std::uint32_t frame) { frames_[memory].free.push_back(frame); }
  [[nodiscard]] std::uint64_t used_bytes(std::uint8_t memory) const;

  [[nodiscard]] std::uint64_t walks() const { return walks_; }

 private:
  struct Frames {
    std::uint32_t next = 0;
    std::vector<std::uint32_t> free;
  };
  struct Waiter {
    std::uint32_t processor = 0;
    std::uint32_t page = 0;
  };

  bool invalidate_tlbs(Page& page);
  void wake_waiters(std::uint32_t page);

  const machine::Gpu& gpu_;
  EventWheel& events_;
  FaultQueue& faults_;
  std::vector<Page> pages_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
  std::vector<Frames> frames_;  // by memory
  std::vector<Tlb> l1_;         // by SM
  Tlb l2_;
  std::vector<Cycle> walker_free_;
  std::vector<Waiter> waiting_;  // for pages that are not usable
  std::uint32_t allocations_ = 0;
  std::uint64_t walks_ = 0;
};

}  // namespace terrace::gpu_sim
