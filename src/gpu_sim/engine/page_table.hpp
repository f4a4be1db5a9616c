// Which page is in which frame of which memory, and who knows: translation lookaside buffers of the SMs and a
// shared one, and the walkers behind them. An SM that asks gets its answer as an event; for a page that is moving,
// once it has moved; for one that the GPU may not access, once the driver has handled its fault.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/fault_queue.hpp"
#include "gpu_sim/engine/tlb.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

inline constexpr std::uint32_t k_no_page = 0xffffffff;

struct Page {
  std::uint64_t number = 0;      // its address over the page size
  std::uint32_t allocation = 0;  // the first that it belongs to
  std::uint32_t frame = 0;       // of its memory
  std::uint8_t memory = 0;
  bool moving = false;
  bool asked = false;           // to move, and has not begun
  std::uint8_t asked_for = 0;   // a memory
  bool mapped = true;           // for the GPU
  bool faulted = false;         // was accessed while unmapped, and that is not handled
  bool translated = false;      // a TLB may know it
  bool walked = false;          // to it, since someone looked: its accessed bit
  std::uint32_t in_flight = 0;  // requests that are on their way to its frame or back
  std::uint32_t touches = 0;    // line parts that SMs asked for since it was told
  std::uint64_t accesses = 0;   // line parts that SMs asked for

  [[nodiscard]] bool usable() const { return mapped && !moving; }
};

class PageTable {
 public:
  PageTable(const machine::Gpu& gpu, EventWheel& events, FaultQueue& faults);

  // Its pages are in frames of that memory, from the next free one on; pages that it shares with another
  // allocation stay where they are. Those beyond memory 0 are mapped for the GPU, or not. Returns the first page
  // and how many are new.
  struct Added {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  Added add(const Allocation& allocation, std::span<const std::uint8_t> memory_of_new, bool far_mapped = true);
  [[nodiscard]] std::uint32_t find(std::uint64_t page_number) const;  // k_no_page: in no allocation
  [[nodiscard]] const Page& operator[](std::uint32_t page) const { return pages_[page]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(pages_.size()); }

  // An SM's own buffer: the page, or k_no_page.
  std::uint32_t look_up(std::uint32_t processor, std::uint64_t page_number) {
    return l1_[processor].look_up(page_number);
  }
  // It does not know. An event `translated` with this page comes, at the earliest when the page is usable.
  void walk(std::uint32_t processor, std::uint32_t page);
  // Such an event came: whether the translation is there; not, where the page moves or may not be accessed.
  bool translated(std::uint32_t processor, std::uint32_t page);

  // The page moves from now on. Whether a buffer knew it.
  bool unmap(std::uint32_t page);
  // It is in that frame, and the GPU may access it, or not.
  void map(std::uint32_t page, std::uint8_t memory, std::uint32_t frame, bool mapped);
  // It is unmapped for the GPU: its next access is a fault. Whether a buffer knew it.
  bool forbid(std::uint32_t page);
  // It is mapped, where it is.
  void allow(std::uint32_t page);

  // A request goes to its frame, or is back.
  void sent(std::uint32_t page) { ++pages_[page].in_flight; }
  void answered(std::uint32_t page) { --pages_[page].in_flight; }
  // An SM asked for a part of it; whether that was the `touches`th time since it was last true, beyond memory 0.
  bool accessed(std::uint32_t page, std::uint32_t touches);
  void forget_touches(std::uint32_t page) { pages_[page].touches = 0; }
  // The pages that were walked to since the last call.
  std::vector<std::uint32_t> take_walked();
  // It is in the mover's queue, for that memory; or not any more.
  void ask(std::uint32_t page, std::uint8_t memory);
  void drop_ask(std::uint32_t page) { pages_[page].asked = false; }

  // A free frame of a memory.
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

  bool forget(Page& page);
  void wake(std::uint32_t page);

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
