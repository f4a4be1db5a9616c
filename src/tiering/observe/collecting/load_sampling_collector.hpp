// SPDX-License-Identifier: Apache-2.0
// Collects profiles in virtual time from what real hardware can deliver (`--collector load-sampling`, the
// default): samples of demand loads and of stores, counters by place, and accessed bits. It knows the address of
// no prefetched line and of no write-back.
//
// *Load samples* (PEBS, IBS): one in each block of N demand misses, with its chunk and the time for which it
// delayed retirement (PEBS' retire latency, IBS' completion to retirement). N is adapted so that there is about
// one sample in each interval of a core's own progress, as for a counter in frequency mode. A sample stands for N
// misses.
//
// *Store samples*: likewise, one in N of the lines that are written. A line written back stands for the store that
// made it dirty. Samples show which chunks are written, the counters how much.
//
// *Counters*, exact, not by chunk: cycles and cycles stalled; lines read and written, by place (memory
// controllers); demand misses by place (local and remote); from them what was prefetched: lines read less demand
// misses.
//
// *Page references*: pages that were read since the last scan. All live chunks are scanned at the end of a phase
// or segment, but only when the scan takes at most a twentieth of the time since the last one. The lines
// prefetched until then are attributed at the scan, to every phase and segment since the last one.
//
// From these:
//   demand lines of a chunk    its samples x N, scaled so that those of a place sum to its demand misses
//   their exposure             likewise, their delays of retirement, scaled so that all sum to the cycles stalled
//   prefetched lines           of a place, spread over its chunks in proportion to the lines of the touched pages
//                              that demand misses, with one standard error, do not account for (over touched
//                              pages, where they account for all); each exposes latency / prefetch_mlp, as the
//                              machine file says. A line is read before it is written back: if an object has
//                              more lines written back than read (by more than a standard error and the lines
//                              that caches held), its weight is raised to the lines written back
//   written lines              its samples x N, scaled to the lines written of the place
//   core                       cycles less cycles stalled on chunks
// Where the counters of a place have demand misses or written lines but no sample fell on them, they are
// attributed at the next sample of the place.
//
// Chunks of an object whose samples in a phase do not differ significantly are taken as equal (pooling.hpp).
//
// The quotients of eq. 1 of Unimem are not made of time samples here. `samples` of a phase is its own progress in
// intervals; a cell's is the progress that its misses delayed, in intervals; samples_with_access is the sum of the
// cells'. They are fractions, equivalent to as many time samples: an interval in which the core only waited has a
// load sample, so a cell's share of time is known at least as well as from that many time samples.
//
// Error: with k load samples of about the same weight a cell has a relative error of 1 / sqrt(k), or less where
// chunks are accessed one after the other (sampling_collector.hpp). Totals of places and of time have no error.
// The distribution of prefetched lines has no sampling error but a model error: it takes all touched pages of a
// place as equally streamed. A chunk whose touched pages have few demand misses and no stream gets lines of
// others; a chunk that is streamed twice gets no more than one that is streamed once, unless its object is written
// as often. Prefetched lines of memory that belongs to no chunk are attributed to chunks of the place. A program
// whose stores bypass the caches writes lines that it did not read: its objects may get too much weight. The
// uncertainty of plans includes both: model/uncertainty/sampling_error.hpp the first, spread_error.hpp the second.
//
// Limits of the model: stores that miss count as demand misses, and may be sampled as such. On a real machine,
// pages whose lines are all cached are touched, too; here only misses touch pages.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "observe/collecting/block_sampler.hpp"
#include "observe/collecting/page_bits.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "observe/collecting/thread_shares.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

// Cycles of a core between two load samples, and between two store samples: both together then cost at most 14 %
// of the time.
inline constexpr double k_load_sample_cycles = 10000;

// Sources used besides load samples and cycles, for experiments on the value of each.
struct LoadSamplingSources {
  bool counters = true;    // counters by place, and store samples, which they scale
  bool references = true;  // page references; without them all live chunks of a place count as touched
};

class LoadSamplingCollector final : public Collector {
 public:
  // Machine and table outlive the collector. `interval`: of each core. Throws Error{invalid} when it is not above
  // 0.
  LoadSamplingCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                        const memory::ChunkTable& chunks, Seconds interval, LoadSamplingSources sources = {},
                        std::uint64_t seed = SmallGenerator::k_seed);

  [[nodiscard]] bool can_thin() const override { return true; }
  void set_thinning(double factor) override {
    thinning_ = factor;
    interval_ = full_interval_ * factor;
  }
  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }
  [[nodiscard]] Seconds take_cost() override { return overhead_.take(); }
  [[nodiscard]] bool wants_misses() const override { return is_counting(); }
  // Returns all that was collected between the last two scans, as one phase; null unless a scan has just ended it.
  [[nodiscard]] const Phase* last_phase() const override { return is_scanned_ ? &phase_since_scan_ : nullptr; }
  [[nodiscard]] std::uint64_t records() const { return overhead_.records(); }

 private:
  struct SampleSums {
    double lines = 0;
    double exposure = 0;
    double written = 0;
    double squares = 0;  // of the lines that each sample stands for
    PlaceId place = 0;
  };
  struct PlaceCounters {  // of a place, lines
    double prefetched = 0;
    double demanded = 0;
    double written = 0;
  };
  struct TouchedPages {
    PageBits pages;
    PlaceId place = 0;
    double demanded = 0;  // lines, since the last scan
    double written = 0;
    double squares = 0;  // of the lines that each of these samples stands for
  };
  struct Share {  // a chunk's share of its place's prefetched lines
    ChunkId chunk;
    PlaceId place;
    double weight;  // lines, until shares() scales them to a sum of 1 for each place
  };

  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  void complete_iteration(Iteration& iteration) override;
  void count_on(PlaceId place, const ChunkTraffic& traffic);
  void sample(const Miss& miss);
  using Scales = std::vector<double>;  // by place
  [[nodiscard]] Scales scales(double SampleSums::*lines, double PlaceCounters::*counter);
  void estimate(Phase& phase);
  [[nodiscard]] bool scan_is_due();
  void count_pages();
  void scan(std::vector<Phase>& phases);
  [[nodiscard]] std::vector<Share> shares() const;
  [[nodiscard]] double touched_lines(ChunkId chunk) const;
  void raise_to_written(std::vector<Share>& all) const;
  void update_unwritten(const std::vector<Share>& all);
  void distribute_prefetched(const std::vector<Share>& shares, Phase& phase) const;

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double full_interval_;  // seconds of the time law's progress, in which all cores run at once
  double interval_;       // after thinning
  double thinning_ = 1;
  double streamed_;  // latencies that a prefetched line exposes
  std::uint64_t line_;
  LoadSamplingSources sources_;
  SamplingOverhead overhead_;
  ThreadShares threads_;
  BlockSampler loads_, stores_;

  double core_ = 0;  // seconds, of this phase
  double stalled_ = 0;
  double streaming_ = 0;  // of these, on prefetched lines
  std::vector<PlaceCounters> counters_;
  ChunkScratch<SampleSums> sampled_;
  SampleSums unowned_;

  ChunkScratch<TouchedPages> touched_;  // since the last scan
  // Upper bound of the lines in the caches that may still be written back, by object and place. An object without
  // an entry (first touched since the last scan) may have its whole share of the caches.
  std::map<std::pair<ObjectId, PlaceId>, double> unwritten_;
  double cached_lines_ = 0;         // capacity of all caches
  double since_scan_ = 0;           // seconds of progress
  std::uint64_t pages_ = 0;         // of all live chunks, at the last scan
  std::size_t chunks_at_scan_ = 0;  // size of the chunk table then
  Phase phase_since_scan_;          // sum of the phases since the last scan
  bool is_scanned_ = false;         // phase_since_scan_ ends with a scan
};

}  // namespace terrace::observe
