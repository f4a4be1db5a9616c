// SPDX-License-Identifier: Apache-2.0
// Measures the share of the heap that no traced access reaches, for the agent's report of coverage. See
// heap_coverage.hpp.
#include "observe/coverage/heap_coverage.hpp"

#include <algorithm>

namespace terrace::observe {

namespace {

bool is_heap(ObjectKind kind) {
  return kind == ObjectKind::heap || kind == ObjectKind::mapping || kind == ObjectKind::small ||
         kind == ObjectKind::named;
}

}  // namespace

HeapCoverage::HeapCoverage(std::function<Bytes(std::uint64_t, std::uint64_t)> touched,
                           std::function<Seconds()> now)
    : touched_(std::move(touched)), now_(std::move(now)), last_update_(now_().value) {}

// Advances the observed times, of main loops and of the run, to now.
HeapCoverage::Times HeapCoverage::update_times() {
  const auto now = now_().value;
  if (observed_) times_.all += now - last_update_;
  if (observed_ && in_loop_) times_.in_loop += now - last_update_;
  last_update_ = now;
  return times_;
}

void HeapCoverage::set_in_loop(bool in_loop) {
  update_times();
  in_loop_ = in_loop;
}

void HeapCoverage::set_observed(bool observed) {
  update_times();
  observed_ = observed;
}

void HeapCoverage::on_object_added(const Object& object, std::uint64_t address) {
  if (is_heap(object.kind)) live_.insert_or_assign(object.id, Live{object, address, update_times()});
}

void HeapCoverage::on_object_removed(ObjectId object) {
  const auto found = live_.find(object);
  if (found == live_.end()) return;
  account(found->second, update_times(), gone_);
  live_.erase(found);
}

void HeapCoverage::on_tally(const Quantum&, const Tally& tally) {
  for (const auto& [chunk, traffic] : tally.chunks()) {
    if (chunk >= reached_.size()) reached_.resize(std::max<std::size_t>(2 * reached_.size(), chunk + 1));
    reached_[chunk] = true;
  }
}

// Adds an object's covered and uncovered bytes, weighted by its lifetime until now, to the sums.
void HeapCoverage::account(const Live& live, const Times& now, Sums& sums) const {
  const auto& object = live.object;
  std::uint64_t covered = 0, uncovered = 0;
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto chunk = std::size_t{object.first_chunk} + i;
    const auto offset = i * object.chunk_size.value;
    const auto size = std::min(object.chunk_size.value, object.size.value - offset);
    if (chunk < reached_.size() && reached_[chunk])
      covered += size;
    else
      uncovered += touched_(live.address + offset, live.address + offset + size).value;
  }
  const auto weight = [&](std::uint64_t bytes) {
    return Times{static_cast<double>(bytes) * (now.in_loop - live.born.in_loop),
                 static_cast<double>(bytes) * (now.all - live.born.all)};
  };
  const auto add = [](Times& sum, const Times& more) {
    sum.in_loop += more.in_loop;
    sum.all += more.all;
  };
  add(sums.bytes, weight(covered + uncovered));
  if (uncovered == 0) return;
  const Uncovered one{{object.id, Bytes{uncovered}}, weight(uncovered)};
  add(sums.uncovered, one.weight);
  auto& largest = sums.largest;
  largest.insert(std::find_if(largest.begin(), largest.end(),
                              [&](const Uncovered& other) { return other.weight < one.weight; }),
                 one);
  if (largest.size() > k_max_objects) largest.pop_back();
}

HeapShare HeapCoverage::share() {
  const auto now = update_times();
  auto sums = gone_;
  for (const auto& [id, live] : live_) account(live, now, sums);
  const auto time = now.in_loop > 0 ? now.in_loop : now.all;
  const auto part = [&](const Times& sum) { return now.in_loop > 0 ? sum.in_loop : sum.all; };
  HeapShare share;
  if (time > 0) {
    share.bytes = part(sums.bytes) / time;
    share.uncovered = part(sums.uncovered) / time;
  }
  for (const auto& one : sums.largest)
    if (part(one.weight) > 0) share.objects.push_back(one.object);
  return share;
}

}  // namespace terrace::observe
