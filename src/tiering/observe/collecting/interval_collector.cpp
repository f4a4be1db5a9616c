// SPDX-License-Identifier: Apache-2.0
// Counts sampled misses, hint faults and the load of places, interval by interval, for tiering policies in virtual
// time. See interval_collector.hpp.
#include "observe/collecting/interval_collector.hpp"

#include <algorithm>
#include <utility>

#include "observe/collecting/page_bits.hpp"

namespace terrace::observe {

namespace {

constexpr Seconds k_not_protected{-1};

}  // namespace

Seconds loaded_latency(Seconds unloaded, Seconds line_time, double utilisation) {
  constexpr double k_max = 0.99;
  const auto busy = std::clamp(utilisation, 0.0, k_max);
  return unloaded + Seconds{line_time.value * busy / (2 * (1 - busy))};
}

IntervalCollector::IntervalCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                                     const memory::ChunkTable& chunks, Clock& clock, std::uint32_t sample_period)
    : cost_(machine, initiator, cores),
      view_(machine, initiator),
      chunks_(chunks),
      clock_(clock),
      line_(static_cast<double>(machine.parts().line.value)),
      period_(sample_period),
      overhead_(cores),
      busy_(machine.places().size(), 0),
      reads_(machine.places().size(), 0) {}

// Counts lines of one kind. Returns how many samples fall on them.
std::uint32_t IntervalCollector::sample(std::uint64_t lines, std::uint64_t& since) {
  if (period_ == 0) return 0;
  since += lines;
  const auto samples = since / period_;
  since %= period_;
  for (std::uint64_t n = 0; n < samples; ++n) overhead_.add_record();
  return static_cast<std::uint32_t>(samples);
}

// Records a hint fault if the chunk is protected, and removes the protection.
void IntervalCollector::fault(ChunkId chunk) {
  if (chunk >= protected_at_.size() || protected_at_[chunk].value < 0) return;
  faults_.push_back({chunk, std::max(clock_.now() - protected_at_[chunk], Seconds{})});
  protected_at_[chunk] = k_not_protected;
  ++new_faults_;
}

// Counts a quantum (a batch of one thread's accesses): samples and faults by chunk, traffic by place.
void IntervalCollector::on_tally(const Quantum&, const Tally& tally) {
  for (const auto& [chunk, traffic] : tally.chunks()) {
    fault(chunk);
    auto& counts = samples_.at(chunk);
    counts.read_samples += sample(traffic.independent + traffic.dependent, since_read_);
    counts.write_samples += sample(traffic.written, since_write_);
    const auto place = view_.place_of(chunks_[chunk]);
    const auto& path = view_.path(place);
    busy_[place] += static_cast<double>(traffic.read()) * line_ / path.read.value +
                    static_cast<double>(traffic.written) * line_ / path.write.value;
    reads_[place] += traffic.read();
    stalled_ += cost_.exposure(traffic) * path.latency.value;
  }
}

void IntervalCollector::protect(std::span<const ChunkId> chunks) {
  const auto now = clock_.now();
  for (const auto chunk : chunks) {
    if (chunk >= protected_at_.size()) protected_at_.resize(std::size_t{chunk} + 1, k_not_protected);
    protected_at_[chunk] = now;
    overhead_.add_references(pages_of(chunks_[chunk].size));
  }
}

std::uint32_t IntervalCollector::take_faults() { return std::exchange(new_faults_, 0); }

Observation IntervalCollector::take() {
  Observation observation;
  observation.length = std::max(clock_.now() - begun_, Seconds{});
  observation.sample_period = period_;
  for (const auto& [chunk, of_chunk] : samples_.entries()) {
    observation.touched.push_back(chunk);
    if (of_chunk.read_samples + of_chunk.write_samples > 0)
      observation.samples.push_back({chunk, of_chunk.read_samples, of_chunk.write_samples});
  }
  observation.faults = std::exchange(faults_, {});
  for (std::size_t p = 0; p < busy_.size(); ++p) {
    const auto& path = view_.path(static_cast<PlaceId>(p));
    const auto utilisation = observation.length.value > 0 ? std::min(busy_[p] / observation.length.value, 1.0) : 0;
    observation.places.push_back({utilisation, static_cast<double>(reads_[p]),
                                  loaded_latency(path.latency, Seconds{line_ / path.read.value}, utilisation)});
    observation.reads += static_cast<double>(reads_[p]);
  }
  observation.stalled = Seconds{std::exchange(stalled_, 0)};
  std::fill(busy_.begin(), busy_.end(), 0);
  std::fill(reads_.begin(), reads_.end(), 0);
  samples_.clear();
  begun_ = clock_.now();
  return observation;
}

}  // namespace terrace::observe
