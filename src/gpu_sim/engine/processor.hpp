// A streaming multiprocessor (SM): its warps, their schedulers, and the unit through which they access memory,
// with the L1 cache before it. It is looked at only in cycles in which it can issue or look up.
//
// A warp issues in order. Loads do not hold it up, their first use does; a store and an atomic whose old value
// nobody uses never do. The access unit takes one line part a cycle: translation, L1 lookup, and for what misses
// an MSHR and a request. What waits for a translation is put aside; what finds no MSHR holds up all behind it.
//
// The L1 cache is written through, and a line that is written leaves it (Fermi's global accesses). Its tags are of
// virtual addresses: what is in it stays right when a page moves.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "gpu_sim/engine/event_wheel.hpp"
#include "gpu_sim/engine/memory_side.hpp"
#include "gpu_sim/engine/mshr_table.hpp"
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

// Told by SMs while they run.
class ProcessorListener {
 public:
  virtual ~ProcessorListener() = default;
  // An SM asks memory for a part of the page.
  virtual void asked(std::uint32_t page, bool write) = 0;
  // A CTA has ended: there is room.
  virtual void cta_ended(std::uint32_t processor) = 0;
};

class Processor {
 public:
  Processor(const machine::Gpu& gpu, std::uint32_t number, EventWheel& events, MemorySide& memory,
            PageTable& pages, ProcessorListener& listener);

  // A kernel begins: how many of its CTAs have room. 0 where not even one has.
  std::uint32_t begin(const Kernel& kernel);
  [[nodiscard]] bool has_room() const { return !free_slots_.empty(); }
  // Starts it; takes its contents, and leaves an old CTA's memory.
  void start(Cta& cta);

  void on_tick();
  void on_access_done(std::uint32_t access);
  void on_translated(std::uint32_t page);
  void on_answer(const Request& request);
  // All SMs stand still, or go on.
  void stop() { stopped_ = true; }
  void go_on() {
    stopped_ = false;
    wake();
  }

  [[nodiscard]] const ProcessorCounts& counts() const { return counts_; }
  // In the cycles before `at`, which is not before anything that has happened.
  [[nodiscard]] const model::CamatCounters& warp_camat(Cycle at) { return warp_camat_.counters_at(at); }
  [[nodiscard]] const model::CamatCounters& part_camat(Cycle at) { return part_camat_.counters_at(at); }
  // Nothing runs, and nothing is on its way. Stores that wait for a translation outlive their CTA.
  [[nodiscard]] bool idle() const {
    return running_ == 0 && stores_ == 0 && aside_.empty() && translated_.empty();
  }

 private:
  static constexpr std::uint32_t k_max_warps = 64;
  using WarpMask = std::uint64_t;

  struct Slot {
    Cta cta;
    WarpMask warps = 0;          // that have not ended
    WarpMask waiting = 0;        // at a barrier
    std::uint32_t accesses = 0;  // whose lines were not all looked up
  };
  struct Warp {
    std::uint32_t slot = 0;
    std::uint32_t step = 0;
    std::uint32_t end = 0;   // of its steps
    std::uint32_t line = 0;  // of the next access
    std::uint32_t before = 0;
    std::uint32_t after = 0;
    std::uint32_t loads = 0;        // issued so far
    std::uint32_t waits_for = 0;    // a load; 0: none
    std::uint64_t outstanding = 0;  // loads, by number modulo 64
    std::uint64_t age = 0;          // when it began, among all
  };
  struct Access {
    std::uint32_t warp = 0;
    std::uint64_t age = 0;  // the warp's: another may have its place by then
    std::uint32_t load = 0;
    std::uint32_t slot = 0;
    std::uint32_t line = 0;   // next
    std::uint32_t lines = 0;  // left to be looked up for the first time
    std::uint32_t outstanding = 0;
    StepKind kind = StepKind::load;
    bool begun = false;
    bool misses = false;
    Cycle ready = 0;
    model::CamatMeter::Miss miss = 0;
  };
  struct Part {
    std::uint32_t access = 0;
    LinePart part;
    std::uint32_t page = k_no_page;  // once it was translated
  };
  struct Waiter {
    std::uint32_t access = 0;
    model::CamatMeter::Miss miss = 0;
  };
  enum class Issue : std::uint8_t { issued, blocked };

  void wake() { tick_at(events_.now() + (ticked_ == events_.now() ? 1 : 0)); }
  void tick_at(Cycle at);
  void ready_at(std::uint32_t warp, Cycle at);
  [[nodiscard]] std::uint32_t pick(WarpMask ready, std::uint32_t scheduler) const;
  Issue issue(std::uint32_t warp);
  Issue issue_access(std::uint32_t warp, const Step& step);
  void next_step(Warp& warp);
  void at_barrier(std::uint32_t warp);
  void go_on_if_all_wait(Slot& slot);
  void end_warp(std::uint32_t warp);
  void free_if_over(std::uint32_t slot);

  // Whether the part that is next could be looked up.
  bool serve_accesses();
  bool look_up(const Part& part);
  bool look_up_translated(const Part& part, std::uint32_t page);
  bool load(Access& access, const Part& part, std::uint32_t page);
  void send(const Part& part, std::uint32_t page, std::uint32_t waiter);
  void misses(Access& access);
  void looked_up(std::uint32_t number);
  void finish_if_done(std::uint32_t number);

  const machine::Gpu& gpu_;
  std::uint32_t number_;
  EventWheel& events_;
  MemorySide& memory_;
  PageTable& pages_;
  ProcessorListener& listener_;

  std::string kernel_;  // its name
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::array<Warp, k_max_warps> warps_;
  WarpMask free_warps_ = 0;
  WarpMask ready_ = 0;
  std::array<WarpMask, 64> later_{};  // ready in a cycle, by cycle modulo 64
  std::uint64_t later_filled_ = 0;
  WarpMask want_access_ = 0;         // found the access queue full
  std::vector<std::uint32_t> last_;  // by scheduler: the warp that issued
  std::uint64_t started_ = 0;        // warps
  std::uint32_t running_ = 0;        // CTAs

  SectorCache l1_;
  MshrTable<Waiter> mshrs_;
  Pool<Access> accesses_;
  std::deque<std::uint32_t> queue_;  // accesses with lines that were not looked up
  std::deque<Part> translated_;      // parts that were put aside, and know their page
  std::vector<Part> aside_;          // wait for a translation
  std::uint32_t stores_ = 0;         // on their way
  bool held_up_ = false;             // the part that is next found no MSHR, or too many stores are on their way

  bool stopped_ = false;
  Cycle tick_ = ~Cycle{0};    // when it is looked at next
  Cycle ticked_ = ~Cycle{0};  // when it was looked at last
  Cycle later_from_ = 0;      // up to which `later_` was taken
  ProcessorCounts counts_;
  model::CamatMeter warp_camat_;
  model::CamatMeter part_camat_;
};

}  // namespace terrace::gpu_sim
