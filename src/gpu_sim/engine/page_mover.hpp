// Moves pages between memories, some at once, in the order in which they were asked for: as move_pages(2) does, a
// page is unmapped, copied, mapped. Unmapping a page that a TLB knows is a shootdown: all SMs stand still, if the
// machine says so until no access to the page is under way, and then for a time that it states. The copy begins
// when no access is under way. Accesses to a page that is being moved wait until it is mapped again. Copies go
// through both memories' channels with all other traffic. A page that finds no room waits for those that are on
// their way out of there.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/memory_side.hpp"
#include "gpu_sim/engine/page_table.hpp"
#include "gpu_sim/engine/pool.hpp"
#include "machine/gpu.hpp"

namespace terrace::gpu_sim {

struct MoverCounts {
  std::uint64_t moved_pages = 0;
  std::uint64_t without_shootdown = 0;
  std::uint64_t refused = 0;          // for want of room
  std::uint64_t forbidden_pages = 0;  // so that their next access is a fault
  std::uint64_t stopped_cycles = 0;   // in which the SMs stood still
};

class MoverListener {
 public:
  virtual ~MoverListener() = default;
  virtual void stop_all() = 0;
  virtual void go_on_all() = 0;
  // The page is where it was asked to be.
  virtual void moved(std::uint32_t page) = 0;
  // It was asked to move and stays, for want of room.
  virtual void stayed(std::uint32_t page) = 0;
};

class PageMover {
 public:
  // `capacity`: bytes of each memory that pages may take. Pages that leave the GPU's own memory stay mapped for
  // the GPU, or not.
  PageMover(const machine::Gpu& gpu, EventWheel& events, MemorySide& memory, PageTable& pages,
            MoverListener& listener, std::vector<std::uint64_t> capacity, bool far_mapped = true);

  // Of one that was asked for and has not begun, the last call counts.
  void ask(std::uint32_t page, std::uint8_t memory) { ask_from(events_.now(), page, memory); }
  // Because of accesses: it begins no sooner than whoever moves has heard of them.
  void ask_by_touch(std::uint32_t page, std::uint8_t memory) {
    ask_from(events_.now() + gpu_.notice, page, memory);
  }
  // So many pages are copied at once, from now on; 0: none begins, and who waits for one accesses it where it is.
  void limit(std::uint32_t pages);
  // The GPU's next access to each of these pages is a fault: one shootdown for all of them.
  void forbid(std::span<const std::uint32_t> pages);
  // The driver has handled the faults of these pages: those that do not move are mapped where they are.
  void settle(std::span<const std::uint32_t> pages);
  // Begins what can be begun.
  void start();

  // No access to the moving page is under way any more.
  void drained(std::uint32_t page);
  void line_read(std::uint32_t line);
  void line_crossed(std::uint32_t line);
  void line_written(std::uint32_t line);
  // An event of kind go_on.
  void on_go_on();

  [[nodiscard]] const MoverCounts& counts() const { return counts_; }

 private:
  struct Move {
    std::uint32_t page = 0;
    std::uint8_t memory = 0;
    std::uint32_t frame = 0;  // the new one
    std::uint32_t lines = 0;  // that are not written yet
    bool holds_up = false;    // the SMs stand still until it is drained
  };
  struct Line {
    std::uint32_t move = 0;
    std::uint64_t offset = 0;
  };
  struct Asked {
    std::uint32_t page = 0;
    Cycle from = 0;  // when it may begin
  };
  void ask_from(Cycle at, std::uint32_t page, std::uint8_t memory);
  void begin(std::uint32_t page, std::uint8_t memory);
  void stays(std::uint32_t page);
  void copy(std::uint32_t move);
  void stand_still();
  void interrupt();

  const machine::Gpu& gpu_;
  EventWheel& events_;
  MemorySide& memory_;
  PageTable& pages_;
  MoverListener& listener_;
  std::vector<std::uint64_t> capacity_;
  bool far_mapped_;
  std::vector<std::uint32_t> leaving_;  // pages on their way out, by memory
  std::deque<Asked> queue_;
  Cycle wakes_at_ = 0;  // for the first of the queue
  Pool<Move> moves_;
  std::vector<std::uint32_t> undrained_;  // moves
  Pool<Line> lines_;
  std::uint32_t limit_;
  std::uint32_t active_ = 0;
  std::uint32_t undrained_shootdowns_ = 0;
  std::uint32_t interruptions_ = 0;  // that have not begun
  bool stopped_ = false;
  Cycle stopped_at_ = 0;
  Cycle stopped_until_ = 0;
  MoverCounts counts_;
};

}  // namespace terrace::gpu_sim
