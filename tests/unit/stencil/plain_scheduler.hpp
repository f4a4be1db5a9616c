// Reference scheduler by exhaustive search: examines all frames and uses for each decision. StreamScheduler
// must decide the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stencil/stream/scheduler.hpp"

namespace terrace::stencil::test {

class PlainScheduler {
 public:
  PlainScheduler(std::size_t frames, std::size_t max_moves) : frames_(frames), max_moves_(max_moves) {}

  void add(const ChunkId& id, bool is_kept) { chunks_[id].is_kept = is_kept; }
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead) {
    plan_ = std::move(plan);
    ahead_ = std::move(ahead);
    step_ = 0;
    for (const auto& use : plan_->uses)
      if (auto& chunk = chunks_.at(use.chunk); !use.is_fetched && !chunk.is_storing) chunk.is_dirty = false;
    needed_ = needed_ahead_ = 0;
  }

  std::optional<StreamAction> next() {
    if (moves_ >= max_moves_) return {};
    std::uint64_t when = 0;
    const auto* const use = wanted(when);
    if (!use) return {};
    if (const auto frame = frame_for(when)) {
      StreamAction action{StreamAction::What::fetch, use->chunk, *frame, frames_[*frame]};
      if (chunks_.at(use->chunk).is_clear) action.what = StreamAction::What::clear;
      if (!use->is_fetched) action.what = StreamAction::What::admit;
      frames_[*frame] = use->chunk;
      chunks_.at(use->chunk).is_coming = true;
      ++moves_;
      return action;
    }
    const auto frame = last_used(when, true);
    if (!frame) return {};
    chunks_.at(*frames_[*frame]).is_storing = true;
    ++moves_;
    return StreamAction{StreamAction::What::store, *frames_[*frame], *frame, {}};
  }

  void done(const StreamAction& action) {
    --moves_;
    auto& chunk = chunks_.at(action.chunk);
    chunk.is_coming = false;
    if (action.what != StreamAction::What::store) return;
    chunk.is_dirty = std::exchange(chunk.is_changed, false);
    chunk.is_storing = chunk.is_clear = false;
  }

  void end_step() {
    for (const auto& use : plan_->uses) {
      auto& chunk = chunks_.at(use.chunk);
      if (use.last != step_ || !use.is_written || !chunk.is_kept) continue;
      chunk.is_dirty = true;
      chunk.is_changed = chunk.is_storing;
    }
    ++step_;
  }

  void changed(const ChunkId& id) {
    auto& chunk = chunks_.at(id);
    if (has_frame(id))
      chunk.is_dirty = true;
    else
      chunk.is_clear = false;
  }
  // Removes a dataset.
  void remove(DatasetId dataset) {
    for (auto& [id, chunk] : chunks_)
      if (id.dataset == dataset) {
        chunk.is_dirty = false;
        chunk.is_clear = true;
      }
  }

 private:
  struct Chunk {
    bool is_kept = true;
    bool is_clear = true;
    bool is_dirty = false;
    bool is_coming = false;
    bool is_storing = false;
    bool is_changed = false;
  };

  [[nodiscard]] bool has_frame(const ChunkId& id) const {
    return std::ranges::count(frames_, std::optional(id)) > 0;
  }
  static const ChunkUse* use_in(const StreamPlan* plan, const ChunkId& id) {
    if (!plan) return nullptr;
    const auto found = std::ranges::find(plan->uses, id, &ChunkUse::chunk);
    return found == plan->uses.end() ? nullptr : &*found;
  }
  // Returns the steps until a chunk's next use, counted from the chain's first; chunks without a known use are
  // ordered after these by last use.
  [[nodiscard]] std::uint64_t next_use(const ChunkId& id) const {
    const auto steps = plan_->steps.size();
    const auto* const use = use_in(plan_.get(), id);
    if (use && step_ <= use->last) return std::max<std::uint64_t>(step_, use->first);
    if (const auto* const ahead = use_in(ahead_.get(), id)) return steps + ahead->first;
    return 2 * steps + (ahead_ ? ahead_->steps.size() : 0) - (use ? use->last : 0);
  }
  // Returns the next fetch: the first use of this chain, then of the next one, whose chunk is not resident.
  // Earlier uses were fetched once.
  const ChunkUse* wanted(std::uint64_t& when) {
    if (!plan_) return nullptr;
    for (; needed_ < plan_->uses.size(); ++needed_) {
      const auto& use = plan_->uses[needed_];
      when = use.first;
      if (has_frame(use.chunk)) continue;
      const auto is_free = std::ranges::any_of(frames_, [](const auto& chunk) { return !chunk; });
      return is_free || when <= step_ + k_max_ahead ? &use : nullptr;
    }
    for (; ahead_ && needed_ahead_ < ahead_->uses.size(); ++needed_ahead_) {
      const auto& use = ahead_->uses[needed_ahead_];
      when = plan_->steps.size() + use.first;
      if (use.is_fetched && !has_frame(use.chunk)) return &use;
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<FrameId> frame_for(std::uint64_t when) const {
    const auto is_free = [](const std::optional<ChunkId>& chunk) { return !chunk; };
    if (const auto free = std::ranges::find_if(frames_, is_free); free != frames_.end())
      return static_cast<FrameId>(free - frames_.begin());
    return last_used(when, false);
  }
  [[nodiscard]] std::optional<FrameId> last_used(std::uint64_t before, bool is_dirty) const {
    std::optional<FrameId> found;
    auto latest = before;
    for (FrameId frame = 0; frame < frames_.size(); ++frame) {
      if (!frames_[frame]) continue;
      const auto& chunk = chunks_.at(*frames_[frame]);
      if (chunk.is_coming || chunk.is_storing || chunk.is_dirty != is_dirty) continue;
      if (const auto use = next_use(*frames_[frame]); use > latest) {
        latest = use;
        found = frame;
      }
    }
    return found;
  }

  std::map<ChunkId, Chunk> chunks_;
  std::vector<std::optional<ChunkId>> frames_;
  std::size_t max_moves_;
  std::size_t moves_ = 0;
  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const StreamPlan> ahead_;
  std::size_t step_ = 0;
  std::size_t needed_ = 0;
  std::size_t needed_ahead_ = 0;
};

}  // namespace terrace::stencil::test
