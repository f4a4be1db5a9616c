// SPDX-License-Identifier: Apache-2.0
// Integrates the cycle counters of C-AMAT event by event, for the GPU simulator. See camat.hpp.
#include "model/camat/camat.hpp"

#include <algorithm>

namespace terrace::model {
namespace {

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

CamatCounters& CamatCounters::operator+=(const CamatCounters& other) {
  accesses += other.accesses;
  misses += other.misses;
  pure_misses += other.pure_misses;
  hit_cycles += other.hit_cycles;
  hit_access_cycles += other.hit_access_cycles;
  pure_miss_cycles += other.pure_miss_cycles;
  pure_access_cycles += other.pure_access_cycles;
  active_cycles += other.active_cycles;
  return *this;
}

CamatCounters CamatCounters::operator-(const CamatCounters& other) const {
  auto left = *this;
  left.accesses -= other.accesses;
  left.misses -= other.misses;
  left.pure_misses -= other.pure_misses;
  left.hit_cycles -= other.hit_cycles;
  left.hit_access_cycles -= other.hit_access_cycles;
  left.pure_miss_cycles -= other.pure_miss_cycles;
  left.pure_access_cycles -= other.pure_access_cycles;
  left.active_cycles -= other.active_cycles;
  return left;
}

double Camat::from_components() const {
  const auto hits = hit_concurrency == 0 ? 0 : hit_time / hit_concurrency;
  const auto misses = miss_concurrency == 0 ? 0 : pure_miss_ratio * pure_miss_penalty / miss_concurrency;
  return hits + misses;
}

Camat camat_of(const CamatCounters& counters) {
  Camat camat;
  camat.value = ratio(counters.active_cycles, counters.accesses);
  camat.hit_time = ratio(counters.hit_access_cycles, counters.accesses);
  camat.hit_concurrency = ratio(counters.hit_access_cycles, counters.hit_cycles);
  camat.pure_miss_ratio = ratio(counters.pure_misses, counters.accesses);
  camat.pure_miss_penalty = ratio(counters.pure_access_cycles, counters.pure_misses);
  camat.miss_concurrency = ratio(counters.pure_access_cycles, counters.pure_miss_cycles);
  return camat;
}

void CamatMeter::begin_access(Cycle begin) {
  advance(begin);
  ++counters_.accesses;
  ++num_looking_up_;
  ++num_active_;
}

// Ends the hit phase of an access that misses at `end`. Returns the id of its miss phase.
CamatMeter::Miss CamatMeter::begin_miss(Cycle end) {
  Miss miss = 0;
  if (free_ids_.empty()) {
    miss = static_cast<Miss>(pending_.size());
    pending_.emplace_back();
  } else {
    miss = free_ids_.back();
    free_ids_.pop_back();
    pending_[miss] = {};
  }
  ++counters_.misses;
  schedule_hit_end(end, miss, true);
  return miss;
}

// Queues the end of a hit phase, in the order of time.
void CamatMeter::schedule_hit_end(Cycle end, Miss miss, bool misses) {
  const HitEnd hit_end{end, miss, misses};
  // Hit phases of one cache usually have equal length: the position is mostly the last.
  const auto place = std::upper_bound(hit_ends_.begin(), hit_ends_.end(), hit_end,
                                      [](const auto& a, const auto& b) { return a.at < b.at; });
  hit_ends_.insert(place, hit_end);
}

void CamatMeter::end_miss(Miss miss, Cycle end) {
  advance(end);
  auto& wait = pending_[miss];
  if (!wait.waits) {
    wait.ended = true;
    return;
  }
  --num_waiting_;
  --num_active_;
  if (counters_.pure_miss_cycles == wait.pure_before) --num_not_yet_pure_;
  free_ids_.push_back(miss);
}

// Counts the cycles up to `to`, with the ends of hit phases on the way.
void CamatMeter::advance(Cycle to) {
  while (!hit_ends_.empty() && hit_ends_.front().at <= to) {
    const auto end = hit_ends_.front();
    hit_ends_.pop_front();
    integrate(end.at);
    --num_looking_up_;
    if (!end.misses) {
      --num_active_;
      continue;
    }
    auto& wait = pending_[end.miss];
    if (wait.ended) {
      --num_active_;
      free_ids_.push_back(end.miss);
      continue;
    }
    ++num_waiting_;
    ++num_not_yet_pure_;
    wait.waits = true;
    wait.pure_before = counters_.pure_miss_cycles;
  }
  integrate(to);
}

// Adds the cycles up to `to` to the counters, by the accesses in progress.
void CamatMeter::integrate(Cycle to) {
  const auto cycles = to - now_;
  now_ = to;
  if (cycles == 0) return;
  if (num_active_ != 0) counters_.active_cycles += cycles;
  if (num_looking_up_ != 0) {
    counters_.hit_cycles += cycles;
    counters_.hit_access_cycles += cycles * num_looking_up_;
  } else if (num_waiting_ != 0) {
    counters_.pure_miss_cycles += cycles;
    counters_.pure_access_cycles += cycles * num_waiting_;
    counters_.pure_misses += num_not_yet_pure_;
    num_not_yet_pure_ = 0;
  }
}

}  // namespace terrace::model
