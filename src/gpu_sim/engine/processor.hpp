// SPDX-License-Identifier: Apache-2.0
// Models a streaming multiprocessor (SM): its warps, their schedulers, and the access unit with the L1 cache. The
// Simulator has one for each SM, and simulates it only in cycles in which it can issue or look up.
//
// Warps issue in order. A load does not stall its warp; its first use does. Stores, and atomics whose old value is
// unused, never do. The access unit processes one line part per cycle: translation, L1 lookup, and on a miss an
// MSHR and a request. A part that waits for a translation leaves the queue; a part without an MSHR blocks all
// parts behind it.
//
// The L1 cache is write-through, and a write evicts its line (as Fermi does for global accesses). Tags are virtual
// addresses, so cached lines stay valid when a page moves.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/memory_side.hpp"
#include "gpu_sim/engine/page_table.hpp"
#include "gpu_sim/engine/pool.hpp"
#include "gpu_sim/engine/sector_cache.hpp"
#include "gpu_sim/trace/warp_trace.hpp"
#include "machine/gpu.hpp"
#include "model/camat/camat.hpp"

namespace terrace::gpu_sim {

struct ProcessorCounts {
  std::uint64_t instructions = 0;  // of warps
  std::uint64_t accesses = 0;      // of warps
  std::uint64_t loads = 0;         // line parts
  std::uint64_t load_hits = 0;
  std::uint64_t load_merges = 0;
  std::uint64_t stores = 0;   // line parts
  std::uint64_t atomics = 0;  // line parts

  ProcessorCounts& operator+=(const ProcessorCounts& other);
};

// Receives events of the SMs.
class ProcessorListener {
 public:
  virtual ~ProcessorListener() = default;
  // Reports a request of an SM to memory for a part of the page.
  virtual void on_request(std::uint32_t page, bool write) = 0;
  // Reports the end of a CTA: its slot is free.
  virtual void on_cta_end(std::uint32_t processor) = 0;
};

class Processor {
 public:
  Processor(const machine::Gpu& gpu, std::uint32_t number, EventWheel& events, MemorySide& memory,
            PageTable& pages, ProcessorListener& listener);

  // Begins a kernel. Returns how many of its CTAs fit on the SM; 0 if not even one does.
  std::uint32_t begin_kernel(const Kernel& kernel);
  [[nodiscard]] bool has_free_slot() const { return !free_slots_.empty(); }
  // Starts a CTA: swaps `cta` with the buffers of an ended CTA.
  void start_cta(Cta& cta);

  // Handle the SM's events (event_wheel.hpp).
  void on_tick();
  void on_access_done(std::uint32_t access);
  void on_translated(std::uint32_t page);
  void on_answer(const Request& request);
  // Stalls, or resumes, the SM.
  void set_stalled(bool is_stalled) {
    stopped_ = is_stalled;
    if (!is_stalled) wake();
  }

  [[nodiscard]] const ProcessorCounts& counts() const { return counts_; }
  // Return the counters of the cycles before `at`. Requires: `at` is not before the last processed event.
  [[nodiscard]] const model::CamatCounters& warp_camat(Cycle at) { return warp_camat_.counters_at(at); }
  [[nodiscard]] const model::CamatCounters& part_camat(Cycle at) { return part_camat_.counters_at(at); }
  // Returns whether nothing runs and nothing is in flight. Stores that wait for a translation outlive their CTA.
  [[nodiscard]] bool is_idle() const {
    return running_ == 0 && stores_ == 0 && awaiting_translation_.empty() && translated_.empty();
  }

 private:
  static constexpr std::uint32_t k_max_warps = 64;
  using WarpMask = std::uint64_t;

  struct Slot {
    Cta cta;
    WarpMask warps = 0;          // not ended
    WarpMask waiting = 0;        // at a barrier
    std::uint32_t accesses = 0;  // with lines not yet looked up
  };
  struct Warp {
    std::uint32_t slot = 0;
    std::uint32_t step = 0;
    std::uint32_t end = 0;   // of its steps
    std::uint32_t line = 0;  // of the next access
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    std::uint32_t loads = 0;        // issued so far
    std::uint32_t waits_for = 0;    // number of a load; 0: none
    std::uint64_t outstanding = 0;  // loads, by number modulo 64
    std::uint64_t age = 0;          // order of its start among all warps
  };
  struct Access {
    std::uint32_t warp = 0;
    std::uint64_t age = 0;  // of the warp: another warp may have its slot at completion
    std::uint32_t load = 0;
    std::uint32_t slot = 0;
    std::uint32_t line = 0;   // next to look up
    std::uint32_t lines = 0;  // not yet looked up for the first time
    std::uint32_t outstanding = 0;
    StepKind kind = StepKind::load;
    bool begun = false;
    bool misses = false;
    Cycle ready = 0;
    model::CamatMeter::Miss miss = 0;
  };
  struct AccessPart {
    std::uint32_t access = 0;
    LinePart part;
    std::uint32_t page = k_no_page;  // after translation
  };
  struct Waiter {
    std::uint32_t access = 0;
    model::CamatMeter::Miss miss = 0;
  };
  enum class Issue : std::uint8_t { issued, blocked };

  void wake() { tick_at(events_.now() + (ticked_ == events_.now() ? 1 : 0)); }
  void tick_at(Cycle at);
  void ready_at(std::uint32_t warp, Cycle at);
  [[nodiscard]] std::uint32_t pick_warp(WarpMask ready, std::uint32_t scheduler) const;
  Issue issue(std::uint32_t warp);
  Issue issue_access(std::uint32_t warp, const Step& step);
  void advance_step(Warp& warp);
  void wait_at_barrier(std::uint32_t warp);
  void release_barrier_if_complete(Slot& slot);
  void end_warp(std::uint32_t warp);
  void free_slot_if_done(std::uint32_t slot);

  // Processes the next part. Returns whether it was looked up.
  bool process_next_part();
  bool look_up(const AccessPart& part);
  bool look_up_translated(const AccessPart& part, std::uint32_t page);
  bool load(Access& access, const AccessPart& part, std::uint32_t page);
  void send(const AccessPart& part, std::uint32_t page, std::uint32_t waiter);
  void note_miss(Access& access);
  void on_looked_up(std::uint32_t number);
  void finish_if_done(std::uint32_t number);

  const machine::Gpu& gpu_;
  std::uint32_t number_;
  EventWheel& events_;
  MemorySide& memory_;
  PageTable& pages_;
  ProcessorListener& listener_;

  std::string kernel_;  // name
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::array<Warp, k_max_warps> warps_;
  WarpMask free_warps_ = 0;
  WarpMask ready_ = 0;
  std::array<WarpMask, 64> later_{};  // warps that become ready, by cycle modulo 64
  std::uint64_t later_filled_ = 0;
  WarpMask blocked_on_queue_ = 0;    // found the access queue full
  std::vector<std::uint32_t> last_;  // by scheduler: the warp that issued last
  std::uint64_t started_ = 0;        // number of warps
  std::uint32_t running_ = 0;        // CTAs

  SectorCache l1_;
  MshrTable<Waiter> mshrs_;
  Pool<Access> accesses_;
  std::deque<std::uint32_t> queue_;               // accesses with lines not yet looked up
  std::deque<AccessPart> translated_;             // parts that waited for a translation and have their page
  std::vector<AccessPart> awaiting_translation_;  // parts that wait for a translation
  std::uint32_t stores_ = 0;                      // in flight
  bool is_blocked_ = false;                       // the next part has no MSHR, or too many stores are in flight

  bool stopped_ = false;
  Cycle tick_ = ~Cycle{0};    // next simulated cycle
  Cycle ticked_ = ~Cycle{0};  // last simulated cycle
  Cycle later_from_ = 0;      // `later_` was taken up to here
  ProcessorCounts counts_;
  model::CamatMeter warp_camat_;
  model::CamatMeter part_camat_;
};

}  // namespace terrace::gpu_sim
