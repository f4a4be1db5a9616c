// SPDX-License-Identifier: Apache-2.0
// Moves pages between the memories of a simulated GPU, in the order in which placements request it, several
// concurrently. As in move_pages(2), a page is unmapped, copied and mapped. Unmapping a page that a TLB may hold
// is a shootdown: all SMs stall for a time that the machine file states. If the machine file says so, that time
// begins once no access to the page is in flight. The copy begins when no access is in flight. Accesses to a
// moving page wait until it is mapped again. Copies compete with all other traffic in the channels of both
// memories. A page without capacity at its target waits for pages that are leaving it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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
  std::uint64_t refused = 0;          // for lack of capacity
  std::uint64_t forbidden_pages = 0;  // protected, so that their next access faults
  std::uint64_t stopped_cycles = 0;   // in which the SMs were stalled
};

class PagePlacement;

class PageMover {
 public:
  // Stalls all SMs, or resumes them.
  using SetStalled = std::function<void(bool is_stalled)>;
  // Reports moves to `placement`. Pages that leave the GPU's own memory stay mapped for the GPU, unless accesses
  // to them have to fault. `capacity`: bytes of each memory that pages may take.
  PageMover(const machine::Gpu& gpu, EventWheel& events, MemorySide& memory, PageTable& pages,
            PagePlacement& placement, SetStalled set_sms_stalled, std::vector<std::uint64_t> capacity);

  // Requests a move. A later request replaces one that has not begun.
  void request_move(std::uint32_t page, std::uint8_t memory) { request_move_from(events_.now(), page, memory); }
  // Requests a move because of accesses: it begins no sooner than the driver could have noticed them.
  void request_move_on_touch(std::uint32_t page, std::uint8_t memory) {
    request_move_from(events_.now() + gpu_.notice, page, memory);
  }
  // Sets the number of concurrent copies from now on. 0: no move begins, and waiting accesses go to the present
  // place.
  void set_max_concurrent(std::uint32_t pages);
  // Protects the pages, so that the GPU's next access to each faults: one shootdown for all of them.
  void protect(std::span<const std::uint32_t> pages);
  // Ends the faults of these pages, which the driver has handled: those that do not move are mapped where they
  // are.
  void resolve_faults(std::span<const std::uint32_t> pages);
  // Begins the moves that can begin.
  void start_moves();

  // Reports that no access to the moving page is in flight any more.
  void on_drained(std::uint32_t page);
  void on_line_read(std::uint32_t line);
  void on_line_crossed(std::uint32_t line);
  void on_line_written(std::uint32_t line);
  // Handles an event of kind resume.
  void on_resume();

  [[nodiscard]] const MoverCounts& counts() const { return counts_; }

 private:
  struct PageMove {
    std::uint32_t page = 0;
    std::uint8_t memory = 0;
    std::uint32_t frame = 0;  // at the target
    std::uint32_t lines = 0;  // not yet written
    bool stalls_sms = false;  // the SMs stall until it is drained
  };
  struct CopiedLine {
    std::uint32_t move = 0;
    std::uint64_t offset = 0;
  };
  struct QueuedMove {
    std::uint32_t page = 0;
    Cycle from = 0;  // earliest begin
  };
  void request_move_from(Cycle at, std::uint32_t page, std::uint8_t memory);
  void begin(std::uint32_t page, std::uint8_t memory);
  void cancel_move(std::uint32_t page);
  void copy(std::uint32_t move);
  void stall_for_shootdown();
  void schedule_resume();

  const machine::Gpu& gpu_;
  EventWheel& events_;
  MemorySide& memory_;
  PageTable& pages_;
  PagePlacement& placement_;
  SetStalled set_sms_stalled_;
  std::vector<std::uint64_t> capacity_;
  bool far_mapped_;
  std::vector<std::uint32_t> leaving_;  // number of pages that are moving away, by memory
  std::deque<QueuedMove> queue_;
  Cycle next_start_at_ = 0;  // time of the scheduled event for the head of the queue
  Pool<PageMove> moves_;
  std::vector<std::uint32_t> undrained_;  // moves with accesses in flight
  Pool<CopiedLine> lines_;
  std::uint32_t limit_;
  std::uint32_t active_ = 0;
  std::uint32_t undrained_shootdowns_ = 0;
  std::uint32_t pending_shootdowns_ = 0;  // shootdowns that have not begun
  bool stopped_ = false;
  Cycle stalled_at_ = 0;
  Cycle stalled_until_ = 0;
  MoverCounts counts_;
};

}  // namespace terrace::gpu_sim
