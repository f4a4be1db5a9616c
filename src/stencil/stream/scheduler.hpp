// SPDX-License-Identifier: Apache-2.0
// Which chunks come into the fast memory and which leave it, and when: the decisions alone. Who moves chunks, and
// what the time is, it does not know; so one code decides on a real machine and in virtual time.
//
// Chunks come in the order of the steps that use them: as early as they can into frames that nobody has had, and a
// few steps before their own where another one leaves, which might have stayed until the next chain. Those of the
// next chain come once all of this one are there. Room is made by who is used again last (L. Belady, IBM Systems
// Journal 5(2), 1966): within the chain that is known, and behind it in the chain that followed this one the last
// time. What was changed is stored when one waits that may come, and finds nobody who could leave at once. A move
// takes time that grows with the logarithm of the number of frames.
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
inline constexpr std::size_t k_max_ahead = 4;   // steps that a chunk comes before its own, where one has to leave
inline constexpr std::size_t k_max_moves = 16;  // fetches and stores at a time, where a place has no fewer

// What is to be begun now. `frame` is where the chunk is, or comes to.
struct StreamAction {
  enum class What : std::uint8_t {
    fetch,  // bring its numbers
    clear,  // all its numbers are 0
    admit,  // its numbers do not matter
    store   // write its numbers back; it stays
  };
  What what = What::fetch;
  ChunkId chunk;
  FrameId frame = k_no_frame;
  std::optional<ChunkId> evicted;  // had the frame so far
};

class StreamScheduler {
 public:
  // So many frames, and so many fetches and stores at a time.
  StreamScheduler(std::size_t frames, std::size_t max_moves);

  // Chunks whose numbers are 0, and which of them are kept from chain to chain.
  void add_dataset(const std::vector<bool>& is_kept);
  // Its numbers are needed no more; while nothing is under way.
  void remove_dataset(DatasetId dataset);
  // The chain before has ended. `ahead` is what is taken to come next, if anything is known: its first chunks come
  // in once all of this chain are there.
  void begin(std::shared_ptr<const StreamPlan> plan, std::shared_ptr<const StreamPlan> ahead);
  // What to begin now, if anything; each is ended by done().
  [[nodiscard]] std::optional<StreamAction> next();
  void done(const StreamAction& action);

  // Whether all that a step uses is there.
  [[nodiscard]] bool is_ready(std::size_t step) const { return missing_[step] == 0; }
  // Steps end in their order.
  void end_step(std::size_t step);
  [[nodiscard]] std::size_t under_way() const { return moves_; }
  // That runs or is waited for; the number of steps once all have ended.
  [[nodiscard]] std::size_t step() const { return step_; }

  // Of a chunk, while nothing is under way.
  [[nodiscard]] FrameId frame_of(const ChunkId& chunk) const { return at(chunk).frame; }
  // Nothing of it was ever stored: where it has no frame, its numbers are 0.
  [[nodiscard]] bool is_clear(const ChunkId& chunk) const { return at(chunk).is_clear; }
  // Somebody else changed them in the frame, or in the file.
  void changed(const ChunkId& chunk);

 private:
  static constexpr std::uint32_t k_unused = ~std::uint32_t{0};
  struct Chunk {
    FrameId frame = k_no_frame;
    std::uint32_t use = k_unused;    // in the plan
    std::uint32_t ahead = k_unused;  // in the plan of the next chain
    bool is_clear = true;            // nothing was ever stored
    bool is_dirty = false;
    bool is_coming = false;
    bool is_storing = false;
    bool is_changed = false;  // since storing it began
    bool is_kept = true;
  };
  Chunk& at(const ChunkId& id) { return chunks_[first_[id.dataset] + id.number]; }
  [[nodiscard]] const Chunk& at(const ChunkId& id) const { return chunks_[first_[id.dataset] + id.number]; }
  void add_missing(const ChunkUse& use);
  [[nodiscard]] std::uint64_t next_use(const Chunk& chunk) const;
  // The next chunk that may come now, and when it is used.
  [[nodiscard]] const ChunkUse* wanted(std::uint64_t& when);
  [[nodiscard]] std::optional<StreamAction> next_coming();
  [[nodiscard]] std::optional<StreamAction> next_store();
  [[nodiscard]] bool may_leave(const Chunk& chunk, bool is_dirty) const {
    return !chunk.is_coming && !chunk.is_storing && chunk.is_dirty == is_dirty;
  }
  // To be called whenever a chunk that has a frame may leave from now on, or its next use or is_dirty changes.
  void add_candidate(const Chunk& chunk);
  // Of those that may leave for who is used at `before`, the one that is used again last; dirty ones only if
  // asked.
  [[nodiscard]] FrameId last_used(std::uint64_t before, bool is_dirty);

  // The chunk in a frame that may leave. Used again last comes first; of several, the first frame.
  struct Candidate {
    std::uint64_t use;
    FrameId frame;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.use != b.use ? a.use < b.use : a.frame > b.frame;
    }
  };

  std::vector<Chunk> chunks_;
  std::vector<std::size_t> first_;              // of each dataset
  std::vector<std::optional<ChunkId>> frames_;  // who has it
  std::vector<FrameId> free_;
  std::size_t max_moves_;
  std::size_t moves_ = 0;

  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const StreamPlan> ahead_;
  std::size_t step_ = 0;                            // that runs, or is to run
  std::size_t wanted_ = 0;                          // the first use that has not been begun
  std::size_t wanted_ahead_ = 0;                    // the same of the next chain
  std::vector<std::uint32_t> missing_;              // chunks, by step
  std::vector<std::vector<std::uint32_t>> ending_;  // uses, by their last step
  // Clean and dirty ones: all that may leave, and some that may not any more, or not with this use. These are left
  // out once they come first.
  std::array<std::priority_queue<Candidate>, 2> candidates_;
};

}  // namespace terrace::stencil
