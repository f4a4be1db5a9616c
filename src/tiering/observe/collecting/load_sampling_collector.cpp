// SPDX-License-Identifier: Apache-2.0
// Estimates the traffic of phases by chunk from samples, counters and page references, for `--collector
// load-sampling`, the default. See load_sampling_collector.hpp.
#include "observe/collecting/load_sampling_collector.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "observe/collecting/pooling.hpp"

namespace terrace::observe {

namespace {

constexpr double k_max_scan_share = 0.05;  // max share of the time that scans take

bool is_demanded(MissKind kind) { return kind == MissKind::independent || kind == MissKind::dependent; }

// Returns the events for each sample such that there is at most one sample in each interval.
std::uint64_t events_per_sample(std::uint64_t events, double intervals) {
  return intervals > 0 ? static_cast<std::uint64_t>(std::ceil(static_cast<double>(events) / intervals)) : 1;
}

}  // namespace

LoadSamplingCollector::LoadSamplingCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                                             const memory::ChunkTable& chunks, Seconds interval,
                                             LoadSamplingSources sources, std::uint64_t seed)
    : cost_(machine, initiator, cores),
      view_(machine, initiator),
      chunks_(chunks),
      full_interval_(interval.value / cores),
      interval_(full_interval_),
      streamed_(machine::prefetched_exposure(machine.initiators()[initiator], cores)),
      line_(machine.parts().line.value),
      sources_(sources),
      overhead_(cores),
      loads_(seed),
      stores_(~seed),
      counters_(machine.places().size()) {
  for (const auto& cache : machine.initiators()[initiator].caches)
    cached_lines_ += static_cast<double>(cache.size.value) / static_cast<double>(line_);
  if (!std::isfinite(interval_) || interval_ <= 0)
    throw Error(Code::invalid, "--sample: a sample interval of " + std::to_string(interval.value) +
                                   " s is not above 0; give a larger number of cycles");
}

// Adds traffic to the counters of a place, and to the time that the core is stalled.
void LoadSamplingCollector::count_on(PlaceId place, const ChunkTraffic& traffic) {
  auto& on = counters_[place];
  on.prefetched += static_cast<double>(traffic.prefetched);
  on.demanded += static_cast<double>(traffic.independent + traffic.dependent);
  on.written += static_cast<double>(traffic.written);
  const auto latency = view_.path(place).latency.value;
  stalled_ += cost_.exposure(traffic) * latency;
  streaming_ += cost_.streamed_exposure(traffic) * latency;
}

void LoadSamplingCollector::count(const Quantum& quantum, const Tally& tally) {
  threads_.add_thread(quantum.thread);
  const auto before = core_ + stalled_;
  core_ += cost_.core_time(quantum).value;
  std::uint64_t demanded = 0, written = 0;
  const auto add = [&](PlaceId place, const ChunkTraffic& traffic) {
    count_on(place, traffic);
    demanded += traffic.independent + traffic.dependent;
    written += traffic.written;
  };
  add(view_.unowned(), tally.unowned());
  for (const auto& [chunk, traffic] : tally.chunks()) {
    const auto place = view_.place_of(chunks_[chunk]);
    add(place, traffic);
    if (traffic.read() > 0) touched_.at(chunk).place = place;
  }
  const auto intervals = (core_ + stalled_ - before) / interval_;
  loads_.set_block(events_per_sample(demanded, intervals));
  stores_.set_block(events_per_sample(written, intervals));
  for (const auto& miss : quantum.misses) sample(miss);
}

// Marks the page of a miss as referenced. Counts the miss as a sample if it is the one of the current sampling
// interval that the load or store counter selects.
void LoadSamplingCollector::sample(const Miss& miss) {
  const bool owned = miss.chunk != memory::k_no_chunk;
  if (miss.kind != MissKind::writeback && owned && sources_.references) {
    const auto page = page_of(chunks_[miss.chunk].size);
    touched_.at(miss.chunk).pages.set(miss.line * line_, page);
  }
  double lines = 0;
  if (is_demanded(miss.kind))
    lines = static_cast<double>(loads_.event());
  else if (miss.kind == MissKind::writeback && sources_.counters)
    lines = static_cast<double>(stores_.event());
  if (lines == 0) return;
  overhead_.add_record();
  auto& sums = owned ? sampled_.at(miss.chunk) : unowned_;
  sums.place = owned ? view_.place_of(chunks_[miss.chunk]) : view_.unowned();
  sums.squares += lines * lines;
  if (miss.kind == MissKind::writeback) {
    sums.written += lines;
  } else {
    sums.lines += lines;
    sums.exposure += lines * cost_.exposure(miss);
  }
}

// Returns the factors that scale the sampled lines of each place to its counter, and resets these counters. The
// counter of a place without samples is kept for the next samples.
LoadSamplingCollector::Scales LoadSamplingCollector::scales(double SampleSums::*lines,
                                                            double PlaceCounters::*counter) {
  Scales scale(counters_.size(), 1);
  if (!sources_.counters) return scale;
  std::vector<double> sum(counters_.size(), 0);
  sum[view_.unowned()] += unowned_.*lines;
  for (const auto& [chunk, of_chunk] : sampled_.entries()) sum[of_chunk.place] += of_chunk.*lines;
  for (std::size_t p = 0; p < sum.size(); ++p)
    if (sum[p] > 0) scale[p] = std::exchange(counters_[p].*counter, 0) / sum[p];
  return scale;
}

// Estimates all of the phase but prefetched lines.
void LoadSamplingCollector::estimate(Phase& phase) {
  const auto read = scales(&SampleSums::lines, &PlaceCounters::demanded);
  const auto written = scales(&SampleSums::written, &PlaceCounters::written);
  const auto latency = [&](PlaceId place) { return view_.path(place).latency.value; };
  const auto home = view_.unowned();
  double stalled = unowned_.exposure * read[home] * latency(home);
  for (const auto& [chunk, sums] : sampled_.entries())
    stalled += sums.exposure * read[sums.place] * latency(sums.place);
  const auto scale = sources_.counters && stalled > 0 ? (stalled_ - streaming_) / stalled : 1;

  double on_chunks = sources_.counters ? streaming_ : 0;
  for (const auto& [chunk, sums] : sampled_.entries()) {
    Cell cell{chunk, sums.lines * read[sums.place], sums.written * written[sums.place],
              sums.exposure * read[sums.place] * scale};
    const auto lines = (cell.read_lines + cell.write_lines) / (sums.lines + sums.written);
    const auto time = cell.exposure * latency(sums.place);
    cell.line_squares = sums.squares * lines * lines;
    cell.samples = time / interval_;
    on_chunks += time;
    auto& touched = touched_.at(chunk);
    touched.place = sums.place;
    touched.demanded += cell.read_lines;
    touched.written += cell.write_lines;
    touched.squares += cell.line_squares;
    phase.cells.push_back(cell);
  }
  std::sort(phase.cells.begin(), phase.cells.end(),
            [](const Cell& a, const Cell& b) { return a.chunk < b.chunk; });
  phase.core = {std::max(0.0, core_ + stalled_ - on_chunks)};
  phase.samples = (core_ + stalled_) / interval_;
  // In a phase without load samples, stalls are accesses of unknown chunks, and no core time.
  const bool is_unattributed = sources_.counters && stalled <= 0;
  phase.samples_with_access = (is_unattributed ? std::max(stalled_, on_chunks) : on_chunks) / interval_;
  phase.unowned_lines = unowned_.lines * read[home] + unowned_.written * written[home];
}

void LoadSamplingCollector::finish(Phase& phase) {
  estimate(phase);
  if (sources_.counters)
    for (auto& on : counters_) phase.streamed_on.push_back(std::exchange(on.prefetched, 0));
  since_scan_ += core_ + stalled_;
  core_ = stalled_ = streaming_ = 0;
  sampled_.clear();
  unowned_ = {};
  threads_.on_phase_end(phase.name);
  if (std::exchange(is_scanned_, false)) phase_since_scan_ = {};
  add(phase_since_scan_, phase);
  if (since_scan_ > 0 && scan_is_due()) scan(phases());
}

void LoadSamplingCollector::complete_iteration(Iteration& iteration) {
  if (since_scan_ > 0) scan(iteration.phases);
  for (auto& phase : iteration.phases) pool_alike(phase, chunks_, view_);
  threads_.divide(iteration);
  phase_since_scan_ = {};
  is_scanned_ = false;
}

// Returns whether a scan is due. Pages are counted at each scan, and here when there are new chunks.
bool LoadSamplingCollector::scan_is_due() {
  if (chunks_at_scan_ != chunks_.size()) count_pages();
  return static_cast<double>(pages_) * k_reference_cost.value <= k_max_scan_share / thinning_ * since_scan_;
}

void LoadSamplingCollector::count_pages() {
  chunks_at_scan_ = chunks_.size();
  pages_ = pages_of(chunks_);
}

// Scans the accessed bits, and attributes the prefetched lines of the phases since the last scan to chunks.
void LoadSamplingCollector::scan(std::vector<Phase>& phases) {
  count_pages();
  if (sources_.references) overhead_.add_references(pages_);
  const auto all = shares();
  update_unwritten(all);
  for (auto phase = phases.rbegin(); phase != phases.rend() && !phase->streamed_on.empty(); ++phase)
    distribute_prefetched(all, *phase);
  distribute_prefetched(all, phase_since_scan_);
  is_scanned_ = true;
  touched_.clear();
  since_scan_ = 0;
}

double LoadSamplingCollector::touched_lines(ChunkId chunk) const {
  const auto* seen = touched_.find(chunk);
  if (seen == nullptr) return 0;
  return seen->pages.touched(chunks_[chunk].size, k_distinct_lines * line_) / static_cast<double>(line_);
}

// Requires: weights are in lines, not yet scaled to shares. Raises the weights of each object whose written-back
// lines exceed its reads: a line that is written back was read, in this interval or earlier.
void LoadSamplingCollector::raise_to_written(std::vector<Share>& all) const {
  struct Sums {
    double read = 0;  // lines: demand misses and weights
    double written = 0;
    double squares = 0;
    double touched = 0;
  };
  std::map<std::pair<ObjectId, PlaceId>, Sums> objects;
  double read = 0;
  for (const auto& share : all) {
    const auto* seen = touched_.find(share.chunk);
    if (seen == nullptr) continue;
    auto& sums = objects[{chunks_[share.chunk].object, share.place}];
    sums.read += seen->demanded + share.weight;
    sums.written += seen->written;
    sums.squares += seen->squares;
    sums.touched += touched_lines(share.chunk);
    read += seen->demanded + share.weight;
  }
  for (auto& share : all) {
    const std::pair key{chunks_[share.chunk].object, share.place};
    const auto& sums = objects[key];
    if (sums.touched <= 0 || read <= 0) continue;
    const auto before = unwritten_.find(key);
    const auto unwritten = before == unwritten_.end() ? cached_lines_ * sums.read / read : before->second;
    const auto missing = sums.written - std::sqrt(sums.squares) - sums.read - unwritten;
    if (missing > 0) share.weight += missing * touched_lines(share.chunk) / sums.touched;
  }
}

// Updates unwritten_ after a scan: adds the lines read since the last one, subtracts those written back, and
// limits each object to its share of the caches, which is its share of all lines read.
void LoadSamplingCollector::update_unwritten(const std::vector<Share>& all) {
  struct Lines {
    double read = 0;
    double written = 0;
  };
  std::map<std::pair<ObjectId, PlaceId>, Lines> objects;
  double read = 0;
  const auto add = [&](ChunkId chunk, PlaceId place, const Lines& more) {
    auto& lines = objects[{chunks_[chunk].object, place}];
    lines.read += more.read;
    lines.written += more.written;
    read += more.read;
  };
  for (const auto& [chunk, seen] : touched_.entries()) add(chunk, seen.place, {seen.demanded, seen.written});
  const auto& prefetched = phase_since_scan_.streamed_on;
  for (const auto& share : all)
    if (share.place < prefetched.size())
      add(share.chunk, share.place, {prefetched[share.place] * share.weight, 0});
  if (read <= 0) return;
  std::map<std::pair<ObjectId, PlaceId>, double> unwritten;
  for (const auto& [key, lines] : objects) {
    const auto limit = cached_lines_ * lines.read / read;
    const auto before = unwritten_.find(key);
    const auto previous = before == unwritten_.end() ? limit : before->second;
    unwritten[key] = std::clamp(previous + lines.read - lines.written, 0.0, limit);
  }
  unwritten_ = std::move(unwritten);
}

// Returns the chunks' shares of their places' prefetched lines, ascending by chunk.
std::vector<LoadSamplingCollector::Share> LoadSamplingCollector::shares() const {
  std::vector<Share> all;
  std::vector<double> left(counters_.size(), 0), touched(counters_.size(), 0);
  std::vector<double> pages;  // lines in the touched pages of each
  const auto add = [&](ChunkId chunk, PlaceId place, double bytes, double demanded) {
    const auto lines = bytes / static_cast<double>(line_);
    all.push_back({chunk, place, std::max(lines - demanded, 0.0)});
    pages.push_back(lines);
    touched[place] += lines;
  };
  if (sources_.references) {
    for (const auto& [chunk, seen] : touched_.entries()) {
      const auto size = chunks_[chunk].size;
      add(chunk, seen.place, seen.pages.touched(size, k_distinct_lines * line_),
          seen.demanded + std::sqrt(seen.squares));
    }
  } else {
    for (ChunkId chunk = 0; chunk < chunks_.size(); ++chunk) {
      const auto& one = chunks_[chunk];
      if (one.live) add(chunk, view_.place_of(one), static_cast<double>(one.size), 0);
    }
  }
  raise_to_written(all);
  for (const auto& share : all) left[share.place] += share.weight;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& share = all[i];
    const bool any_left = left[share.place] > 0;
    if (!any_left) share.weight = pages[i];
    const auto sum = any_left ? left[share.place] : touched[share.place];
    share.weight = sum > 0 ? share.weight / sum : 0;
  }
  std::erase_if(all, [](const Share& share) { return share.weight <= 0; });
  std::sort(all.begin(), all.end(), [](const Share& a, const Share& b) { return a.chunk < b.chunk; });
  return all;
}

// Adds the shares of prefetched lines to the phase's cells. Where no chunk of a place was touched, its prefetched
// lines belong to no chunk.
void LoadSamplingCollector::distribute_prefetched(const std::vector<Share>& shares, Phase& phase) const {
  if (phase.streamed_on.empty()) return;
  const auto stall = [&](PlaceId place, double lines) {
    return lines * streamed_ * view_.path(place).latency.value;
  };
  std::vector<Cell> cells;
  auto unowned = phase.streamed_on;
  for (const auto& share : shares) {
    unowned[share.place] = 0;
    const auto lines = phase.streamed_on[share.place] * share.weight;
    if (lines > 0)
      cells.push_back({share.chunk, lines, 0, lines * streamed_, stall(share.place, lines) / interval_, 0, lines,
                       lines * streamed_});
  }
  for (std::size_t p = 0; p < unowned.size(); ++p) {
    const auto time = stall(static_cast<PlaceId>(p), unowned[p]);
    phase.unowned_lines += unowned[p];
    phase.core += Seconds{time};
    phase.samples_with_access -= time / interval_;
  }
  phase.cells = add(phase.cells, cells);
  phase.streamed_on.clear();
}

}  // namespace terrace::observe
