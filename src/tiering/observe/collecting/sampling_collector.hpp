// SPDX-License-Identifier: Apache-2.0
// Collects profiles by simulated hardware sampling of the stream of misses: time samples and miss samples
// (`--collector simulated-sampling`; also calibrates Unimem's model). The runtime passes it each quantum of
// misses.
//
// *Time samples*, one in each interval (Unimem's 1,000 cycles) of a core's own progress, that is core time plus
// exposed latency with the present placement; time lost to saturated memories retires no instruction and is not
// included. Every core is sampled: a thread that stands for N cores yields the samples of N threads, each of which
// stands for interval / N. A sample falls either on an exposed access, with the chunk of its address, or on none.
// They yield
//   samples, samples_with_access, a cell's samples   what eq. 1 divides: the share of a phase's time that accesses
//                                                    an object is (its samples / samples) x phase time
//   exposure      samples of a cell x that share / latency of the place where the chunk was
//   core          samples without access x that share
//
// *Miss samples*, one in each block of N misses (write-backs included: what sampled stores stand for): each counts
// for N lines read or written, which is eq. 1's "#data access". N is adapted so that there are about as many of
// them as time samples, as for a counter in frequency mode; it begins at 1.
//
// Where in its interval or block a sample falls is drawn from a small generator with a fixed seed: loops cannot
// alias with it, and repeats are the same to the last digit. Another seed gives other samples of the same run.
//
// Error: samples are stratified, one in each interval or block. Where a cell has a share p_i of interval i, the
// number of its samples is a sum of independent Bernoulli(p_i), with mean k = sum p_i (so nothing is biased) and
// variance sum p_i (1 - p_i). That is at most that of a binomial, n p (1 - p) for a share p of n intervals, which
// it reaches where the accesses of all chunks are mixed evenly; it is far less where chunks are accessed one after
// the other. The profile does not show which applies, so derived quantities (model/uncertainty/sampling_error.hpp)
// assume the binomial: a standard error of sqrt(p (1 - p) / n) of the phase. A phase of 10 ms at 2.4 GHz takes
// 24,000 samples: a chunk with 1 % of its time is known within 0.06 % of the phase, 6 % of itself; a chunk with a
// tenth of that to 20 %. Phases shorter than a few hundred intervals are noise chunk by chunk, and correct on
// average only. The first and the last interval of a phase are half in its neighbours: their samples are one too
// many or too few, with a triangular error of variance 1/6 at either end. Miss samples err alike, in units of the
// N of their block, and independently of time samples. Misses on memory that belongs to no chunk look like core
// time.
#pragma once

#include <vector>

#include "observe/collecting/block_sampler.hpp"
#include "observe/collecting/sampling_overhead.hpp"
#include "observe/collector.hpp"
#include "observe/core_cost.hpp"
#include "observe/place_view.hpp"

namespace terrace::observe {

// Returns 1,000 cycles of the initiator; of a core of 2 GHz where its frequency is unknown.
Seconds default_sample_interval(const machine::Machine& machine, InitiatorId initiator);

class SamplingCollector final : public Collector {
 public:
  // The machine and the table outlive the collector. `interval`: of each core. Throws Error{invalid} when it is
  // not above 0.
  SamplingCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                    const memory::ChunkTable& chunks, Seconds interval,
                    std::uint64_t seed = SmallGenerator::k_seed);

  // Returns the number of samples of both kinds so far; take_cost returns their cost.
  [[nodiscard]] std::uint64_t taken() const { return overhead_.records(); }
  [[nodiscard]] Seconds take_cost() override { return overhead_.take(); }
  [[nodiscard]] bool wants_misses() const override { return is_counting(); }

  [[nodiscard]] bool can_thin() const override { return true; }
  void set_thinning(double factor) override { interval_ = full_interval_ * factor; }
  void set_instruction_time(Seconds time) override { cost_.set_instruction_time(time); }

 private:
  struct Sums {
    double read = 0;  // lines, estimated
    double written = 0;
    double exposure = 0;
    double samples = 0;
    double squares = 0;  // of the lines of each miss sample
  };
  void count(const Quantum& quantum, const Tally& tally) override;
  void finish(Phase& phase) override;
  double sample_time(const Quantum& quantum, const Tally& tally);  // returns the number of samples taken
  void sample_misses(const Quantum& quantum);
  void next_time_sample();
  void next_block(std::uint64_t misses_per_sample);

  CoreCost cost_;
  PlaceView view_;
  const memory::ChunkTable& chunks_;
  double full_interval_;  // seconds of the time law's progress, in which all cores run at once
  double interval_;       // after thinning
  SmallGenerator generator_;
  SamplingOverhead overhead_;

  double to_sample_ = 0;          // seconds of progress until the next time sample
  double in_interval_ = 0;        // position of the next sample in its interval, as a share
  std::uint64_t block_ = 1;       // misses that the next miss sample stands for
  std::uint64_t to_miss_ = 0;     // misses until that sample
  std::uint64_t block_left_ = 1;  // misses until the block ends
  std::uint64_t rate_ = 1;        // misses per time sample in the last quantum that had both

  std::vector<double> latency_;  // by chunk, of its place; valid for chunks of this quantum only
  ChunkScratch<Sums> sums_;
  double samples_ = 0;
  double samples_with_access_ = 0;
  double unowned_lines_ = 0;
};

}  // namespace terrace::observe
