// The profile of a program that has no hooks: which of its pages are used, as the kernel tells it
// (page_watch.hpp), in windows of real time that somebody else opens (agent/watched_program.hpp).
//
// It is page_references_collector.hpp on the real machine, and errs in the same ways: what was used of an object
// in a window counts as read once, whatever the number of times. A phase of which windows met a part is taken to
// have used everything as fast all the time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "observe/collecting/referenced_phases.hpp"
#include "observe/collector.hpp"
#include "observe/page_watch.hpp"

namespace terrace::observe {

// What was used of each object from one time of the run's clock to another.
struct UseWindow {
  double begin = 0, end = 0;         // seconds
  ReferencedPhases::ByObject bytes;  // used
};

class WatchedPagesCollector final : public Collector {
 public:
  // All outlive it. `window`: how long windows are meant to be.
  WatchedPagesCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                        const memory::ChunkTable& chunks, Clock& clock, Seconds window);

  [[nodiscard]] Seconds window() const { return window_; }
  // Where the objects that live now have their chunks, ascending.
  struct Lying {
    WatchedRange range;
    ObjectId object = 0;
    bool may_be_marked = true;  // by who tells mappings apart
  };
  [[nodiscard]] std::vector<Lying> lying() const;
  // A window is over. It counts for the phases in which it lies, while somebody learns from them.
  void add(const UseWindow& window);
  void loop_begun() override;
  // A few windows: what was used in one alone may be what is used once a second.
  [[nodiscard]] bool knows_enough() const override { return windows_ >= k_windows; }
  static constexpr std::uint32_t k_windows = 8;

  void set_instruction_time(Seconds) override {}  // the time is the clock's

 private:
  struct Stretch {  // of a phase, while windows may still tell of it
    std::string phase;
    double begin = 0, end = 0;
  };
  void count(const Quantum&, const Tally&) override {}
  void finish(Phase& phase) override;
  void complete(Iteration& iteration) override;
  [[nodiscard]] std::vector<ReferencedPhases::Overlap> overlaps(const UseWindow& window);

  const memory::ChunkTable& chunks_;
  Clock& clock_;
  Seconds window_;
  ReferencedPhases known_;
  std::vector<Stretch> recent_;  // that ended, ascending
  std::uint32_t windows_ = 0;    // that met phases of this loop
};

}  // namespace terrace::observe
