// SPDX-License-Identifier: Apache-2.0
// Tracks which chunks of the datasets are resident, dirty or in flight, and chooses the next transfer. Stream
// calls it under its lock, StreamRun in virtual time. See scheduler.hpp.
#include "stencil/stream/scheduler.hpp"

#include <algorithm>
#include <limits>

namespace terrace::stencil {

StreamScheduler::StreamScheduler(std::size_t frames, std::size_t max_moves)
    : frames_(frames), max_moves_(max_moves) {
  for (auto frame = frames; frame-- > 0;) free_.push_back(static_cast<FrameId>(frame));
}

void StreamScheduler::add_dataset(const std::vector<bool>& is_kept) {
  first_.push_back(chunks_.size());
  for (const auto kept : is_kept) {
    chunks_.emplace_back();
    chunks_.back().is_kept = kept;
  }
}

void StreamScheduler::remove_dataset(DatasetId dataset) {
  const auto end = dataset + 1 < first_.size() ? first_[dataset + 1] : chunks_.size();
  for (auto i = first_[dataset]; i < end; ++i) {
    chunks_[i].is_dirty = false;
    chunks_[i].is_clear = true;
    add_candidate(chunks_[i]);
  }
}

void StreamScheduler::begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead) {
  for (auto& chunk : chunks_) chunk.use = chunk.ahead = k_unused;
  plan_ = std::move(plan);
  ahead_ = std::move(ahead);
  step_ = wanted_ = wanted_ahead_ = 0;
  missing_.assign(plan_->steps.size(), 0);
  for (auto& uses : ending_) uses.clear();
  ending_.resize(plan_->steps.size());
  for (std::size_t i = 0; i < plan_->uses.size(); ++i) {
    const auto& use = plan_->uses[i];
    auto& chunk = at(use.chunk);
    chunk.use = static_cast<std::uint32_t>(i);
    ending_[use.last].push_back(chunk.use);
    // Its values are overwritten before they are read.
    if (!use.is_fetched && !chunk.is_storing) chunk.is_dirty = false;
    if (chunk.frame == k_no_frame || chunk.is_coming) add_missing(use);
  }
  for (std::size_t i = 0; ahead_ && i < ahead_->uses.size(); ++i)
    at(ahead_->uses[i].chunk).ahead = static_cast<std::uint32_t>(i);
  // Build the heap at once, which is faster than one push at a time.
  for (const auto is_dirty : {false, true}) {
    std::vector<Candidate> all;
    for (FrameId frame = 0; frame < frames_.size(); ++frame) {
      if (!frames_[frame]) continue;
      if (const auto& chunk = at(*frames_[frame]); may_leave(chunk, is_dirty))
        all.push_back({next_use(chunk), frame});
    }
    candidates_[is_dirty] = std::priority_queue<Candidate>({}, std::move(all));
  }
}

void StreamScheduler::add_missing(const ChunkUse& use) {
  for (auto step = use.first; step <= use.last; ++step) ++missing_[step];
}

// Returns the step of the chunk's next use, counted on into the predicted successor: Belady's order of eviction.
std::uint64_t StreamScheduler::next_use(const Chunk& chunk) const {
  const auto steps = plan_->steps.size();
  // Uses in the running step or earlier count as now: no chunk is evicted for a use before step_.
  if (chunk.use != k_unused && step_ <= plan_->uses[chunk.use].last) return plan_->uses[chunk.use].first;
  if (chunk.ahead != k_unused) return steps + ahead_->uses[chunk.ahead].first;
  // No known use: order after all known ones, by last use.
  const auto known = steps + (ahead_ ? ahead_->steps.size() : 0);
  return known + steps - (chunk.use != k_unused ? plan_->uses[chunk.use].last : 0);
}

void StreamScheduler::add_candidate(const Chunk& chunk) {
  if (chunk.frame != k_no_frame && may_leave(chunk, chunk.is_dirty))
    candidates_[chunk.is_dirty].push({next_use(chunk), chunk.frame});
}

FrameId StreamScheduler::last_used(std::uint64_t before, bool is_dirty) {
  auto& candidates = candidates_[is_dirty];
  for (; !candidates.empty(); candidates.pop()) {
    const auto [use, frame] = candidates.top();
    if (use <= before) break;
    const auto& chunk = at(*frames_[frame]);
    if (may_leave(chunk, is_dirty) && next_use(chunk) == use) return frame;
  }
  return k_no_frame;
}

std::optional<StreamAction> StreamScheduler::next() {
  if (moves_ >= max_moves_) return {};
  if (auto action = next_coming()) return action;
  return next_store();
}

const ChunkUse* StreamScheduler::wanted(std::uint64_t& when) {
  if (!plan_) return nullptr;
  while (wanted_ < plan_->uses.size() && at(plan_->uses[wanted_].chunk).frame != k_no_frame) ++wanted_;
  if (wanted_ < plan_->uses.size()) {
    when = plan_->uses[wanted_].first;
    return when <= step_ + k_max_ahead || !free_.empty() ? &plan_->uses[wanted_] : nullptr;
  }
  if (!ahead_) return nullptr;
  const auto needs_nothing = [&](const ChunkUse& use) {
    return !use.is_fetched || at(use.chunk).frame != k_no_frame;
  };
  while (wanted_ahead_ < ahead_->uses.size() && needs_nothing(ahead_->uses[wanted_ahead_])) ++wanted_ahead_;
  if (wanted_ahead_ == ahead_->uses.size()) return nullptr;
  when = plan_->steps.size() + ahead_->uses[wanted_ahead_].first;
  return &ahead_->uses[wanted_ahead_];
}

// Returns the fetch, clear or admission of the next chunk in step order, if a frame is free or may be evicted.
std::optional<StreamAction> StreamScheduler::next_coming() {
  std::uint64_t when = 0;
  const auto* const use = wanted(when);
  if (!use) return {};
  StreamAction action{StreamAction::What::fetch, use->chunk, k_no_frame, {}};
  auto& chunk = at(use->chunk);
  if (!free_.empty()) {
    action.frame = free_.back();
    free_.pop_back();
  } else {
    action.frame = last_used(when, false);
    if (action.frame == k_no_frame) return {};
    action.evicted = frames_[action.frame];
    auto& evicted = at(*action.evicted);
    evicted.frame = k_no_frame;
    if (evicted.use != k_unused && step_ <= plan_->uses[evicted.use].last) add_missing(plan_->uses[evicted.use]);
  }
  if (!use->is_fetched)
    action.what = StreamAction::What::admit;
  else if (chunk.is_clear)
    action.what = StreamAction::What::clear;
  frames_[action.frame] = use->chunk;
  chunk.frame = action.frame;
  chunk.is_coming = true;
  ++moves_;
  return action;
}

// Returns the write-back of the dirty chunk that is used last, if a fetch waits for its frame.
std::optional<StreamAction> StreamScheduler::next_store() {
  std::uint64_t when = 0;
  if (!wanted(when)) return {};
  const auto frame = last_used(when, true);
  if (frame == k_no_frame) return {};
  auto& chunk = at(*frames_[frame]);
  chunk.is_storing = true;
  ++moves_;
  return StreamAction{StreamAction::What::store, *frames_[frame], frame, {}};
}

void StreamScheduler::done(const StreamAction& action) {
  --moves_;
  auto& chunk = at(action.chunk);
  if (action.what == StreamAction::What::store) {
    chunk.is_dirty = chunk.is_changed;
    chunk.is_storing = chunk.is_changed = chunk.is_clear = false;
    add_candidate(chunk);
    return;
  }
  chunk.is_coming = false;
  add_candidate(chunk);
  if (chunk.use == k_unused) return;
  const auto& use = plan_->uses[chunk.use];
  for (auto step = use.first; step <= use.last; ++step) --missing_[step];
}

void StreamScheduler::end_step(std::size_t step) {
  // Chunks written for the last time become worth storing.
  step_ = step + 1;
  for (const auto number : ending_[step]) {
    const auto& use = plan_->uses[number];
    auto& chunk = at(use.chunk);
    if (use.is_written && chunk.is_kept) {
      chunk.is_dirty = true;
      chunk.is_changed = chunk.is_storing;  // transfers in flight may belong to the previous chain
    }
    add_candidate(chunk);  // its next use is later now
  }
}

void StreamScheduler::changed(const ChunkId& id) {
  auto& chunk = at(id);
  if (chunk.frame == k_no_frame) {
    chunk.is_clear = false;
    return;
  }
  chunk.is_dirty = true;
  add_candidate(chunk);
}

}  // namespace terrace::stencil
