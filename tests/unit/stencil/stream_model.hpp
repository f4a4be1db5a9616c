// Model of chunk values under a scheduler's decisions: in frames, in the file, and without either (the
// reference). A chunk's content is one number, which each write replaces by a new one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "plain_scheduler.hpp"
#include "stencil/stream/scheduler.hpp"

namespace terrace::stencil::test {

using Plan = std::shared_ptr<const StreamPlan>;

[[nodiscard]] inline bool uses_in(const ChunkUse& use, std::size_t step) {
  return use.first <= step && step <= use.last;
}

struct StreamCase {
  std::vector<std::uint32_t> chunks;  // per dataset
  std::vector<bool> is_temporary;
  std::vector<Plan> plans;  // over consecutive chains
  std::size_t frames = 0;
};

class StreamModel {
 public:
  StreamModel(const StreamCase& of, std::size_t max_moves)
      : scheduler_(of.frames, max_moves), plain_(of.frames, max_moves), max_moves_(max_moves), frames_(of.frames) {
    for (std::size_t d = 0; d < of.chunks.size(); ++d) {
      scheduler_.add_dataset(std::vector<bool>(of.chunks[d], !of.is_temporary[d]));
      for (std::uint32_t c = 0; c < of.chunks[d]; ++c) {
        const ChunkId id{static_cast<DatasetId>(d), c};
        chunks_[id].is_temporary = of.is_temporary[d];
        plain_.add(id, !of.is_temporary[d]);
      }
    }
  }

  void begin(Plan plan, Plan ahead) {
    plan_ = plan;
    step_ = 0;
    for (auto& [id, chunk] : chunks_)
      if (chunk.is_temporary) chunk.truth = k_any;
    plain_.begin(plan, ahead);
    scheduler_.begin(std::move(plan), std::move(ahead));
    check();
  }
  // Starts the scheduler's next transfer; returns false if there is none.
  bool begin_move() {
    const auto action = scheduler_.next();
    expect_same(action, plain_.next());
    if (!action) return false;
    EXPECT_LT(under_way_.size(), max_moves_);
    under_way_.push_back(*action);
    if (action->what == StreamAction::What::store)
      begin_store(*action);
    else
      begin_coming(*action);
    check();
    return true;
  }
  [[nodiscard]] std::size_t under_way() const { return under_way_.size(); }
  void end_move(std::size_t number) {
    const auto action = under_way_[number];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(number));
    auto& chunk = chunks_.at(action.chunk);
    if (action.what == StreamAction::What::store) {
      chunk.is_storing = false;
      chunk.file = chunk.stored;
    } else {
      chunk.is_coming = false;
    }
    scheduler_.done(action);
    plain_.done(action);
    check();
  }

  [[nodiscard]] bool is_over() const { return step_ == plan_->steps.size(); }
  [[nodiscard]] bool is_ready() const { return !is_over() && scheduler_.is_ready(step_); }
  [[nodiscard]] bool is_running() const { return is_running_; }
  void begin_step() {
    is_running_ = true;
    for (const auto& use : plan_->uses) {
      if (!uses_in(use, step_)) continue;
      const auto& chunk = chunks_.at(use.chunk);
      const auto is_needed = use.is_fetched || step_ > use.first;
      if (!is_needed || chunk.truth == k_any) continue;
      EXPECT_EQ(chunk.held, chunk.truth) << text(use.chunk) << " is read";
    }
    write();
  }
  void end_step() {
    write();
    scheduler_.end_step(step_++);
    plain_.end_step();
    is_running_ = false;
    check();
  }

  // The program writes the chunk, while no transfer is in flight and no chain runs.
  void set(const ChunkId& id) {
    auto& chunk = chunks_.at(id);
    (chunk.frame ? chunk.held : chunk.file) = chunk.truth = ++newest_;
    scheduler_.changed(id);
    plain_.changed(id);
  }
  // Removes the dataset, while no transfer is in flight and no chain runs.
  void remove(DatasetId dataset) {
    for (auto& [id, chunk] : chunks_)
      if (id.dataset == dataset) chunk.is_temporary = true;
    scheduler_.remove_dataset(dataset);
    plain_.remove(dataset);
  }
  void set_all() {
    for (const auto& [id, chunk] : chunks_)
      if (!chunk.is_temporary) set(id);
  }
  // Returns what a reader of all values sees now.
  void expect_truth() const {
    for (const auto& [id, chunk] : chunks_) {
      if (chunk.is_temporary) continue;
      const auto in_file = scheduler_.is_clear(id) ? 0 : chunk.file;
      EXPECT_EQ(chunk.frame ? chunk.held : in_file, chunk.truth) << text(id) << " at the end";
    }
  }

  [[nodiscard]] std::size_t fetches() const { return fetches_; }
  [[nodiscard]] std::size_t stores() const { return stores_; }

 private:
  using Value = std::uint64_t;
  static constexpr Value k_any = ~Value{0};  // of a temporary that its chain did not write
  static constexpr Value k_garbage = k_any - 1;

  struct Chunk {
    Value truth = 0;
    Value held = k_garbage;
    Value file = k_garbage;
    Value stored = k_garbage;  // contents in flight to the file
    std::optional<FrameId> frame;
    bool is_coming = false;
    bool is_storing = false;
    bool is_temporary = false;
  };

  static std::string text(const ChunkId& id) {
    return "chunk " + std::to_string(id.dataset) + '.' + std::to_string(id.number);
  }
  [[nodiscard]] const ChunkUse* use_of(const ChunkId& id) const {
    const auto found = std::ranges::find(plan_->uses, id, &ChunkUse::chunk);
    return found == plan_->uses.end() ? nullptr : &*found;
  }

  static void expect_same(const std::optional<StreamAction>& action, const std::optional<StreamAction>& plain) {
    ASSERT_EQ(action.has_value(), plain.has_value()) << "whether there is anything to do";
    if (!action) return;
    EXPECT_EQ(action->what, plain->what);
    EXPECT_EQ(action->chunk, plain->chunk) << text(action->chunk) << ", not " << text(plain->chunk);
    EXPECT_EQ(action->frame, plain->frame);
    EXPECT_EQ(action->evicted, plain->evicted) << "who leaves";
  }

  void begin_coming(const StreamAction& action) {
    using What = StreamAction::What;
    auto& chunk = chunks_.at(action.chunk);
    EXPECT_FALSE(chunk.frame) << text(action.chunk) << " is there, and comes";
    EXPECT_FALSE(chunk.is_storing);
    ASSERT_LT(action.frame, frames_.size());
    EXPECT_EQ(frames_[action.frame], action.evicted) << "who has the frame";
    if (action.evicted) leave(*action.evicted);
    frames_[action.frame] = action.chunk;
    chunk.frame = action.frame;
    chunk.is_coming = true;
    const auto* const use = use_of(action.chunk);
    if (action.what == What::admit) {
      EXPECT_TRUE(use && !use->is_fetched && step_ <= use->first)
          << text(action.chunk) << " comes without numbers";
      chunk.held = k_garbage;
    } else {
      EXPECT_FALSE(use && step_ <= use->last && !use->is_fetched) << text(action.chunk) << " need not be brought";
      chunk.held = action.what == What::clear ? 0 : chunk.file;
      fetches_ += action.what == What::fetch;
    }
  }

  void leave(const ChunkId& id) {
    auto& chunk = chunks_.at(id);
    EXPECT_FALSE(chunk.is_coming || chunk.is_storing) << text(id) << " is under way, and leaves";
    const auto* const use = use_of(id);
    EXPECT_FALSE(use && !is_over() && uses_in(*use, step_)) << text(id) << " leaves within its step";
    const auto is_kept = chunk.held == (scheduler_.is_clear(id) ? 0 : chunk.file);
    const auto is_written_over = use && !use->is_fetched && step_ < use->first;
    EXPECT_TRUE(is_kept || is_written_over || chunk.is_temporary) << text(id) << " leaves without a store";
    chunk.frame.reset();
    chunk.held = k_garbage;
  }

  void begin_store(const StreamAction& action) {
    auto& chunk = chunks_.at(action.chunk);
    EXPECT_EQ(chunk.frame, action.frame);
    EXPECT_FALSE(chunk.is_coming || chunk.is_storing || chunk.is_temporary);
    const auto* const use = use_of(action.chunk);
    EXPECT_FALSE(use && !use->is_fetched && step_ <= use->last) << text(action.chunk) << " is to be written over";
    chunk.is_storing = true;
    chunk.stored = chunk.held;
    chunk.file = k_garbage;
    ++stores_;
  }

  // Writes everything that the step writes. Contents in flight may be the old, or a mix.
  void write() {
    for (const auto& use : plan_->uses) {
      if (!uses_in(use, step_) || !use.is_written) continue;
      auto& chunk = chunks_.at(use.chunk);
      chunk.held = chunk.truth = ++newest_;
      chunk.stored = k_garbage;
    }
  }

  // Checks the invariants.
  void check() const {
    EXPECT_EQ(scheduler_.under_way(), under_way_.size());
    for (const auto& [id, chunk] : chunks_)
      EXPECT_EQ(scheduler_.frame_of(id), chunk.frame.value_or(k_no_frame)) << text(id);
    for (std::size_t f = 0; f < frames_.size(); ++f)
      EXPECT_TRUE(!frames_[f] || chunks_.at(*frames_[f]).frame == f) << "frame " << f << " has two chunks";
    for (auto step = step_; step < plan_->steps.size(); ++step) {
      const auto is_there = std::ranges::all_of(plan_->uses, [&](const ChunkUse& use) {
        const auto& chunk = chunks_.at(use.chunk);
        return !uses_in(use, step) || (chunk.frame && !chunk.is_coming);
      });
      EXPECT_EQ(scheduler_.is_ready(step), is_there) << "step " << step;
    }
  }

  StreamScheduler scheduler_;
  PlainScheduler plain_;
  std::size_t max_moves_;
  std::map<ChunkId, Chunk> chunks_;
  std::vector<std::optional<ChunkId>> frames_;
  std::vector<StreamAction> under_way_;
  Plan plan_;
  std::size_t step_ = 0;  // running or next step
  bool is_running_ = false;
  Value newest_ = 0;
  std::size_t fetches_ = 0;
  std::size_t stores_ = 0;
};

// Generates random plans of chains that use random chunks.
class RandomStreams {
 public:
  explicit RandomStreams(std::uint64_t seed) : random_(seed) {}
  std::size_t number(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution(low, high)(random_);
  }
  bool is_one_in(std::size_t of) { return number(1, of) == 1; }

  // With `only_reads`, all used chunks are fetched and none is written.
  StreamCase next(std::size_t datasets, std::size_t chunks, std::size_t chains, std::size_t steps,
                  bool only_reads) {
    StreamCase made;
    for (std::size_t d = 0; d < datasets; ++d) {
      made.chunks.push_back(static_cast<std::uint32_t>(number(1, chunks)));
      made.is_temporary.push_back(!only_reads && is_one_in(4));
    }
    std::size_t most = 1;
    for (std::size_t c = 0; c < chains; ++c) {
      made.plans.push_back(plan(made, number(1, steps), only_reads));
      most = std::max(most, made.plans.back()->most_chunks);
    }
    made.frames = most + number(0, 3);
    return made;
  }

 private:
  Plan plan(const StreamCase& of, std::size_t steps, bool only_reads) {
    auto made = std::make_shared<StreamPlan>();
    made->steps.resize(steps);
    for (DatasetId d = 0; d < of.chunks.size(); ++d)
      for (std::uint32_t c = 0; c < of.chunks[d]; ++c) {
        if (is_one_in(4)) continue;
        ChunkUse use{{d, c}, static_cast<std::uint32_t>(number(0, steps - 1)), 0, true, false};
        use.last = static_cast<std::uint32_t>(number(use.first, std::min<std::size_t>(steps - 1, use.first + 2)));
        if (!only_reads) {
          use.is_fetched = !of.is_temporary[d] && !is_one_in(3);
          use.is_written = (!of.is_temporary[d] && !use.is_fetched) || !is_one_in(3);
        }
        made->uses.push_back(use);
      }
    std::ranges::shuffle(made->uses, random_);
    std::ranges::stable_sort(made->uses, {}, &ChunkUse::first);
    for (std::size_t s = 0; s < steps; ++s)
      made->most_chunks =
          std::max(made->most_chunks, static_cast<std::size_t>(std::ranges::count_if(
                                          made->uses, [&](const ChunkUse& use) { return uses_in(use, s); })));
    return made;
  }

  std::mt19937_64 random_;
};

}  // namespace terrace::stencil::test
