// SPDX-License-Identifier: Apache-2.0
// Decides which chunks to fetch, evict and write back, and when. It only decides: it moves no data and reads no
// clock, so the same code runs on real machines (called by Stream) and in virtual time (by StreamRun). Not
// thread-safe.
//
// Prefetch order is step order: as early as possible into free frames, and at most k_max_ahead steps early
// where a fetch evicts another chunk, because that one might have stayed until the next chain. Chunks of the
// next chain are fetched once all of this chain are resident. Eviction is Belady's (L. Belady, IBM Systems
// Journal 5(2), 1966) within the chain, and by the chain that followed last time beyond it. Dirty chunks are
// written back only under pressure: when a fetch is due and no clean chunk may be evicted. Each decision takes
// time logarithmic in the number of frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "stencil/plan/stream_plan.hpp"

namespace terrace::stencil {

using FrameId = std::uint32_t;
inline constexpr FrameId k_no_frame = ~FrameId{0};
inline constexpr std::size_t k_max_ahead = 4;   // maximum prefetch distance in steps, where a fetch evicts
inline constexpr std::size_t k_max_moves = 16;  // maximum transfers in flight, unless the backend allows fewer

// A transfer to start now. `frame` is where the chunk is or will be.
struct StreamAction {
  enum class What : std::uint8_t {
    fetch,  // copy its values from the slow memory
    clear,  // zero-fill it
    admit,  // map it without its values: the chain overwrites them
    store   // write it back; it stays resident
  };
  What what = What::fetch;
  ChunkId chunk;
  FrameId frame = k_no_frame;
  std::optional<ChunkId> evicted;  // previous owner of the frame
};

class StreamScheduler {
 public:
  // Manages `frames` frames, with at most `max_moves` transfers in flight.
  StreamScheduler(std::size_t frames, std::size_t max_moves);

  // Adds a dataset whose values are 0; `is_kept` states for each chunk whether its values outlive a chain.
  void add_dataset(const std::vector<bool>& is_kept);
  // Drops the dataset's chunks. Requires that no transfer is in flight.
  void remove_dataset(DatasetId dataset);
  // Begins a chain; the previous one has ended. `ahead` is the plan of the predicted successor, or nullptr.
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead);
  // Returns a transfer to start now, if any; the caller reports its end by done().
  [[nodiscard]] std::optional<StreamAction> next();
  void done(const StreamAction& action);

  // Returns whether all chunks of a step are resident.
  [[nodiscard]] bool is_ready(std::size_t step) const { return missing_[step] == 0; }
  // Ends a step. Steps end in order.
  void end_step(std::size_t step);
  [[nodiscard]] std::size_t under_way() const { return moves_; }
  // Returns the step that runs or waits; the number of steps once all have ended.
  [[nodiscard]] std::size_t step() const { return step_; }

  // Returns a chunk's frame, or k_no_frame. Requires that no transfer is in flight.
  [[nodiscard]] FrameId frame_of(const ChunkId& chunk) const { return at(chunk).frame; }
  // Returns whether a chunk was never stored: if it is not resident, its values are 0.
  [[nodiscard]] bool is_clear(const ChunkId& chunk) const { return at(chunk).is_clear; }
  // Marks a chunk as changed by the program, in its frame or in the file.
  void changed(const ChunkId& chunk);

 private:
  static constexpr std::uint32_t k_unused = ~std::uint32_t{0};
  struct Chunk {
    FrameId frame = k_no_frame;
    std::uint32_t use = k_unused;    // index in plan_->uses
    std::uint32_t ahead = k_unused;  // index in ahead_->uses
    bool is_clear = true;            // never stored
    bool is_dirty = false;
    bool is_coming = false;
    bool is_storing = false;
    bool is_changed = false;  // written since its store began
    bool is_kept = true;
  };
  Chunk& at(const ChunkId& id) { return chunks_[first_[id.dataset] + id.number]; }
  [[nodiscard]] const Chunk& at(const ChunkId& id) const { return chunks_[first_[id.dataset] + id.number]; }
  void add_missing(const ChunkUse& use);
  [[nodiscard]] std::uint64_t next_use(const Chunk& chunk) const;
  // Returns the next use to fetch for, and sets `when` to its time of use; nullptr if none may start now.
  [[nodiscard]] const ChunkUse* wanted(std::uint64_t& when);
  [[nodiscard]] std::optional<StreamAction> next_coming();
  [[nodiscard]] std::optional<StreamAction> next_store();
  [[nodiscard]] bool may_leave(const Chunk& chunk, bool is_dirty) const {
    return !chunk.is_coming && !chunk.is_storing && chunk.is_dirty == is_dirty;
  }
  // Adds an eviction candidate. Call it whenever a resident chunk becomes evictable, or its next use or
  // is_dirty changes.
  void add_candidate(const Chunk& chunk);
  // Returns the frame of the evictable chunk with the furthest next use, later than `before`; among dirty or
  // clean ones as asked. Returns k_no_frame if there is none.
  [[nodiscard]] FrameId last_used(std::uint64_t before, bool is_dirty);

  // An eviction candidate. The furthest next use comes first; among equals, the lowest frame.
  struct Candidate {
    std::uint64_t use;
    FrameId frame;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.use != b.use ? a.use < b.use : a.frame > b.frame;
    }
  };

  std::vector<Chunk> chunks_;
  std::vector<std::size_t> first_;              // by dataset: its first chunk
  std::vector<std::optional<ChunkId>> frames_;  // owner of each frame
  std::vector<FrameId> free_;
  std::size_t max_moves_;
  std::size_t moves_ = 0;

  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const StreamPlan> ahead_;
  std::size_t step_ = 0;                            // the running or waiting step
  std::size_t wanted_ = 0;                          // first use without a fetch
  std::size_t wanted_ahead_ = 0;                    // the same for the successor
  std::vector<std::uint32_t> missing_;              // missing chunks, by step
  std::vector<std::vector<std::uint32_t>> ending_;  // uses, by last step
  // Clean and dirty candidates. Contains all evictable chunks and stale entries, which are skipped when they
  // reach the top.
  std::array<std::priority_queue<Candidate>, 2> candidates_;
};

}  // namespace terrace::stencil
