// The collector that a machine could have: samples of demand loads and of stores, counters by place, and accessed
// bits. It has no address of a prefetched line and none of a write-back.
//
// *Load samples* (PEBS, IBS): one in each block of N demand misses, with its chunk and for how long it held
// retirement up (PEBS' retire latency, IBS' completion to retirement). N follows the run so that there is about
// one sample in each interval of a core's own progress, as a counter in frequency mode does. A sample stands for N
// misses like it.
//
// *Store samples*: likewise, one in N of the lines that are written. A line written back stands in for the store
// that made it dirty. They say which chunks are written, the counters how much.
//
// *Counters*, exact, not by chunk: cycles and cycles stalled; lines read and written, by place (memory
// controllers); demand misses by place (local and remote); from them what was prefetched: lines read less demand
// misses.
//
// *Page references*: pages from which something was read since they were last looked at. All living chunks are
// scanned at the end of a phase or segment, but no sooner than the scan takes a twentieth of the time since the
// last one: what was prefetched meanwhile waits for it, and every phase and segment since then gets its part of
// it.
//
// From these:
//   demand lines of a chunk    its samples x N, scaled so that those of a place come to its demand misses
//   their exposure             likewise, what they held up, scaled so that all comes to the cycles stalled
//   prefetched lines           of a place, spread over its chunks in proportion to the lines of the touched pages
//                              that demand misses, with one standard error, do not account for (over touched
//                              pages, where they account for all); each exposes latency / prefetch_mlp, as the
//                              machine file says. A line is read before it is written back: if an object has
//                              more lines written back than read (by more than a standard error and the lines
//                              that caches held), its weight is raised to the lines written back
//   written lines              its samples x N, scaled to the lines written of the place
//   core                       cycles less cycles stalled on chunks
// Where counters know of demand misses or written lines on a place and no sample met one, they count where the
// next one does.
//
// Chunks of an object that samples of a phase cannot tell apart count as alike in it (pooling.hpp).
//
// What eq. 1 of Unimem divides are no time samples here. `samples` of a phase is its own progress in intervals;
// a cell's is the progress that its misses held up, in intervals; samples_with_access is the sum of the cells'.
// They are fractions, and stand for as many time samples: an interval in which the core did nothing but wait has a
// load sample, so a cell's share of time is known at least as well as from so many time samples.
//
// Error: with k load samples of about the same weight a cell is known to 1 / sqrt(k) of itself, or better where
// chunks are met one behind the other (sampling_collector.hpp). Totals of places and of time have no error. The
// spread of prefetched lines has no sampling error but one of its own: it takes all touched pages of a place for
// streamed alike. A chunk whose touched pages are met by few demand misses and by no stream gets lines that belong
// to others; a chunk that is streamed twice gets no more than one that is streamed once, unless its object is
// written as often. Lines prefetched of memory that belongs to no chunk go to chunks of its place. A program whose
// stores bypass the caches writes lines that it did not read: its objects may weigh too much.
// The uncertainty of plans has both: model/uncertainty/sampling_error.hpp the first, spread_error.hpp the second.
//
// Not told from loads are stores that miss: they count as demand misses, and may be sampled as such. Pages that
// the caches serve wholly are touched, too, on a real machine; here only what misses is seen.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "observe/collecting/block_sampler.hpp"
#include "observe/collecting/page_bits.hpp"
#include "observe/collecting/sampling_price.hpp"
#include "observe/collecting/thread_shares.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

// Between two load samples, and between two store samples, of a core: both together then take at most 14 % of the
// time.
inline constexpr double k_load_sample_cycles = 10000;

// What it may use beside load samples and cycles, to see what each brings.
struct LoadSamplingSources {
  bool counters = true;    // of places, and store samples, which they scale
  bool references = true;  // without: all living chunks of a place count as touched
};

class LoadSamplingCollector final : public Collector {
 public:
  // Machine and table outlive it. `interval`: of each core. Throws Error{invalid} when it is not above 0.
  LoadSamplingCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                        const memory::ChunkTable& chunks, Seconds interval, LoadSamplingSources sources = {},
                        std::uint64_t seed = SmallGenerator::k_seed);

  [[nodiscard]] bool can_thin() const override { return true; }
  void set_thinning(double factor) override {
    thinning_ = factor;
    interval_ = full_interval_ * factor;
  }
  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }
  [[nodiscard]] Seconds take_cost() override { return bill_.take(); }
  [[nodiscard]] bool wants_misses() const override { return listens(); }
  // All from one scan to the next.
  [[nodiscard]] const Phase* last_phase() const override { return scanned_ ? &stretch_ : nullptr; }
  [[nodiscard]] std::uint64_t records() const { return bill_.records(); }

 private:
  struct Sampled {
    double lines = 0;
    double exposure = 0;
    double written = 0;
    double squares = 0;  // of what each sample stands for
    PlaceId place = 0;
  };
  struct Counters {  // of a place, lines
    double prefetched = 0;
    double demanded = 0;
    double written = 0;
  };
  struct Touched {
    PageBits pages;
    PlaceId place = 0;
    double demanded = 0;  // lines, since the last scan
    double written = 0;
    double squares = 0;  // of what each sample of these stands for
  };
  struct Share {  // of a place's prefetched lines
    ChunkId chunk;
    PlaceId place;
    double weight;  // lines, until shares() scales them to a sum of 1 for each place
  };

  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  void complete(Iteration& iteration) override;
  void count_on(PlaceId place, const ChunkTraffic& traffic);
  void sample(const Miss& miss);
  using Scales = std::vector<double>;  // by place
  [[nodiscard]] Scales scales(double Sampled::*lines, double Counters::*counter);
  void estimate(Phase& phase);
  [[nodiscard]] bool scan_is_due();
  void count_pages();
  void scan(std::vector<Phase>& phases);
  [[nodiscard]] std::vector<Share> shares() const;
  [[nodiscard]] double touched_lines(ChunkId chunk) const;
  void raise_to_written(std::vector<Share>& all) const;
  void settle(const std::vector<Share>& all);
  void spread(const std::vector<Share>& shares, Phase& phase) const;

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double full_interval_;  // of the time law's progress, in which all cores' goes on at once
  double interval_;       // thinned
  double thinning_ = 1;
  double streamed_;  // latencies that a prefetched line exposes
  std::uint64_t line_;
  LoadSamplingSources sources_;
  SamplingBill bill_;
  ThreadShares threads_;
  BlockSampler loads_, stores_;

  double core_ = 0;  // seconds, of this phase
  double stalled_ = 0;
  double streaming_ = 0;  // of that, on prefetched lines
  std::vector<Counters> counters_;
  ChunkScratch<Sampled> sampled_;
  Sampled unowned_;

  ChunkScratch<Touched> touched_;  // since the last scan
  // Upper bound of the lines in the caches that may still be written back, by object and place. An object without
  // an entry (first touched since the last scan) may have its whole share of the caches.
  std::map<std::pair<ObjectId, PlaceId>, double> unwritten_;
  double cached_lines_ = 0;      // capacity of all caches
  double since_scan_ = 0;        // seconds of progress
  std::uint64_t pages_ = 0;      // that a scan looks at, as of the last one
  std::size_t chunks_then_ = 0;  // that there were
  Phase stretch_;                // since the scan before
  bool scanned_ = false;         // at its end
};

}  // namespace terrace::observe
