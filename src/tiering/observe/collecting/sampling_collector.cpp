// SPDX-License-Identifier: Apache-2.0
// Takes simulated time and miss samples, for `--collector simulated-sampling` and the calibration of Unimem's
// model. See sampling_collector.hpp.
#include "observe/collecting/sampling_collector.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace terrace::observe {

Seconds default_sample_interval(const machine::Machine& machine, InitiatorId initiator) {
  const auto frequency = machine.initiators().at(initiator).frequency_hz;
  return {1000 / (frequency > 0 ? frequency : 2e9)};
}

SamplingCollector::SamplingCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                                     const memory::ChunkTable& chunks, Seconds interval, std::uint64_t seed)
    : cost_(machine, initiator, cores),
      view_(machine, initiator),
      chunks_(chunks),
      full_interval_(interval.value / cores),
      interval_(full_interval_),
      generator_(seed),
      overhead_(cores) {
  if (!std::isfinite(interval_) || interval_ <= 0)
    throw Error(Code::invalid, "--sample: a sample interval of " + std::to_string(interval.value) +
                                   " s is not above 0; give a larger number of cycles");
  in_interval_ = generator_.draw();
  to_sample_ = in_interval_ * interval_;
}

void SamplingCollector::next_time_sample() {
  const auto rest = 1 - in_interval_;
  in_interval_ = generator_.draw();
  to_sample_ += (rest + in_interval_) * interval_;
  overhead_.add_record();
  samples_ += 1;
}

void SamplingCollector::next_block(std::uint64_t misses_per_sample) {
  block_ = misses_per_sample;
  block_left_ = block_;
  to_miss_ = std::min(block_ - 1, static_cast<std::uint64_t>(generator_.draw() * static_cast<double>(block_)));
}

void SamplingCollector::count(const Quantum& quantum, const Tally& tally) {
  const auto samples = sample_time(quantum, tally);
  sample_misses(quantum);
  const auto misses = static_cast<double>(quantum.misses.size());
  if (samples > 0 && misses > 0) rate_ = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(misses / samples));
}

// Advances the progress by the quantum, miss by miss, and takes the time samples that fall on it.
double SamplingCollector::sample_time(const Quantum& quantum, const Tally& tally) {
  const auto before = samples_;
  // Core time is spread evenly between the misses. It includes stalls on memory that belongs to no chunk.
  double core = cost_.core_time(quantum).value;
  core += cost_.exposure(tally.unowned()) * view_.path(view_.unowned()).latency.value;
  double all = core;
  for (const auto& [chunk, traffic] : tally.chunks()) {
    if (chunk >= latency_.size()) latency_.resize(chunks_.size() + 1, 0);
    latency_[chunk] = view_.path(view_.place_of(chunks_[chunk])).latency.value;
    all += cost_.exposure(traffic) * latency_[chunk];
  }
  if (to_sample_ >= all * (1 + 1e-9)) {  // common in short phases: no sample falls into this quantum
    to_sample_ -= all;
    return 0;
  }
  const auto gap = core / static_cast<double>(quantum.misses.size() + 1);
  const auto pass_core = [&] {
    to_sample_ -= gap;
    while (to_sample_ < 0) next_time_sample();
  };
  for (const auto& miss : quantum.misses) {
    pass_core();
    if (miss.chunk == memory::k_no_chunk) continue;
    const auto latency = latency_[miss.chunk];
    to_sample_ -= cost_.exposure(miss) * latency;
    while (to_sample_ < 0) {
      next_time_sample();
      samples_with_access_ += 1;
      auto& sums = sums_.at(miss.chunk);
      sums.samples += 1;
      sums.exposure += interval_ / latency;
    }
  }
  pass_core();
  return samples_ - before;
}

// Takes the miss samples of the quantum, one in each block of misses.
void SamplingCollector::sample_misses(const Quantum& quantum) {
  const auto misses = quantum.misses;
  std::uint64_t at = 0;
  while (misses.size() - at > to_miss_) {
    at += to_miss_;
    block_left_ -= to_miss_;
    const auto& miss = misses[at];
    const auto lines = static_cast<double>(block_);
    if (miss.chunk != memory::k_no_chunk) {
      auto& sums = sums_.at(miss.chunk);
      (miss.kind == MissKind::writeback ? sums.written : sums.read) += lines;
      sums.squares += lines * lines;
    } else {
      unowned_lines_ += lines;
    }
    overhead_.add_record();
    const auto rest = block_left_;
    next_block(rate_);
    to_miss_ += rest;
    block_left_ += rest;
  }
  to_miss_ -= misses.size() - at;
  block_left_ -= misses.size() - at;
}

void SamplingCollector::finish(Phase& phase) {
  phase.samples = samples_;
  phase.samples_with_access = samples_with_access_;
  phase.core = {(samples_ - samples_with_access_) * interval_};
  for (const auto& [chunk, sums] : sums_.entries())
    phase.cells.push_back({chunk, sums.read, sums.written, sums.exposure, sums.samples, sums.squares});
  phase.unowned_lines = unowned_lines_;
  samples_ = 0;
  samples_with_access_ = 0;
  unowned_lines_ = 0;
  sums_.clear();
}

}  // namespace terrace::observe
