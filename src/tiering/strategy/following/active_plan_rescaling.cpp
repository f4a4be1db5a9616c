// SPDX-License-Identifier: Apache-2.0
// Adapts a plan of another run to objects of other sizes and to other numbers of phases, for PlanExecutor. Part of
// ActivePlan; see active_plan.hpp.
#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "strategy/following/active_plan.hpp"
#include "strategy/plan_rescaling.hpp"

namespace terrace::strategy {

namespace {

// Returns the scaled offset, at least 1: offset 0 denotes a phase that is no segment.
std::uint64_t scaled_offset(std::uint64_t offset, double scale) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(offset) * scale));
}

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

// Reports the chunks that do not fit, as a share of those that the plan places in faster memory.
class OverflowReport {
 public:
  void add(const PlannedChunk& chunk, const std::string& object, bool out) {
    size_ += chunk.size;
    gain_ += chunk.worth;
    if (!out) return;
    lost_ += chunk.size;
    lost_gain_ += chunk.worth;
    if (of_object_.empty() || of_object_.back().first != object) of_object_.emplace_back(object, Bytes{});
    of_object_.back().second += chunk.size;
  }
  [[nodiscard]] std::optional<std::string> in_words() const {
    if (of_object_.empty()) return std::nullopt;
    auto text = "plan: at these sizes " + format(lost_) + " of the " + format(size_) +
                " that it keeps in faster memory do not fit into the budget and stay at home";
    if (gain_.value > 0) text += ", with " + percent(lost_gain_ / gain_) + " of the gain that it predicts";
    const char* separator = ": ";
    for (const auto& [object, size] : of_object_)
      text += std::exchange(separator, ", ") + ("'" + object) + "' " + format(size);
    return text;
  }

 private:
  Bytes size_, lost_;
  Seconds gain_, lost_gain_;
  std::vector<std::pair<std::string, Bytes>> of_object_;
};

}  // namespace

std::optional<std::string> ActivePlan::fit(const std::vector<observe::Object>& objects,
                                           const memory::ChunkTable& chunks, const machine::Budget& budget,
                                           PlaceId home) {
  std::set<ChunkId> moving;
  for (std::uint32_t phase = 0; phase < moves_by_phase_.size(); ++phase)
    for (const auto& move : moves_of_phase(phase)) moving.insert(move.chunk);
  std::vector<PlannedChunk> away;
  std::vector<std::pair<const observe::Object*, std::uint32_t>> whose;  // object and ordinal of each
  for (const auto& object : objects) {
    if (!object.live || object.id >= initial_.size()) continue;
    for (std::uint32_t ordinal = 0; ordinal < initial_[object.id].size(); ++ordinal) {
      const auto chunk = object.first_chunk + ordinal;
      const auto place = initial_[object.id][ordinal];
      if (place == home || moving.contains(chunk)) continue;
      away.push_back({Bytes{chunks[chunk].size}, worth_[object.id][ordinal], place});
      whose.emplace_back(&object, ordinal);
    }
  }
  const auto out = chunks_over_budget(away, budget);
  OverflowReport misfit;
  for (std::size_t i = 0; i < away.size(); ++i) {
    const auto& [object, ordinal] = whose[i];
    misfit.add(away[i], object->name, out[i]);
    if (!out[i]) continue;
    initial_[object->id][ordinal] = home;
  }
  rewind_moves_.clear();
  return misfit.in_words();
}

std::size_t ActivePlan::map_phases(const std::vector<ExecutedPhase>& passed) {
  std::vector<std::string> planned;
  for (const auto start : starts_) planned.push_back(plan_.phases[start]);
  executed_.clear();
  for (const auto& phase : passed) executed_.push_back(phase.name);
  const auto matched = match_phases(planned, executed_);
  planned_phase_of_.assign(passed.size(), std::nullopt);
  std::vector<bool> answered(starts_.size(), false);
  for (std::size_t i = 0; i < passed.size(); ++i) {
    if (!matched[i]) continue;
    answered[*matched[i]] = true;
    planned_phase_of_[i] = starts_[*matched[i]];
    scale_segments(starts_[*matched[i]], passed[i].accesses);
  }
  remap_moves(answered);
  return static_cast<std::size_t>(std::count(answered.begin(), answered.end(), true));
}

// Scales the segments of the phase at `start` to its accesses in this run.
void ActivePlan::scale_segments(PhaseIndex start, std::uint64_t accesses) {
  std::uint32_t segments = 1;
  while (segment_offset(start + segments) != 0) ++segments;
  if (segments == 1 || accesses == 0) return;
  const auto scale = static_cast<double>(accesses) / phase_length(plan_.phases, plan_.lengths, start);
  for (auto k = start + 1; k < start + segments; ++k) offsets_[k] = scaled_offset(planned_offsets_[k], scale);
}

void ActivePlan::scale_segments_by_size() {
  if (planned_size_.value == 0) return;
  const auto scale = static_cast<double>(size_.value) / static_cast<double>(planned_size_.value);
  for (std::size_t k = 0; k < offsets_.size(); ++k)
    if (offsets_[k] != 0) offsets_[k] = scaled_offset(planned_offsets_[k], scale);
}

// Moves of a planned phase without a counterpart in the program are requested, and waited for, in the next planned
// phase that has one.
void ActivePlan::remap_moves(const std::vector<bool>& answered) {
  const auto phases = static_cast<PhaseIndex>(offsets_.size());
  remapped_phase_.resize(phases);
  if (std::find(answered.begin(), answered.end(), true) == answered.end()) return;
  const auto first =
      starts_[static_cast<std::size_t>(std::find(answered.begin(), answered.end(), true) - answered.begin())];
  auto next = first;
  for (auto i = starts_.size(); i-- > 0;) {
    const auto end = i + 1 < starts_.size() ? starts_[i + 1] : phases;
    for (auto k = starts_[i]; k < end; ++k) remapped_phase_[k] = answered[i] ? k : next;
    if (answered[i]) next = starts_[i];
  }
  auto asks = std::exchange(moves_by_phase_, std::vector<std::vector<ActiveMove>>(moves_by_phase_.size()));
  for (auto& of_phase : asks)
    for (auto& move : of_phase) {
      remap_phases(move.planned);
      moves_by_phase_[move.planned.ask].push_back(move);
    }
  rewind_moves_.clear();
  sorted_ = false;
}

void ActivePlan::remap_phases(ChunkMove& move) const {
  if (move.ask >= remapped_phase_.size()) return;
  move.ask = remapped_phase_[move.ask];
  if (move.awaited && move.need < remapped_phase_.size()) move.need = remapped_phase_[move.need];
}

}  // namespace terrace::strategy
