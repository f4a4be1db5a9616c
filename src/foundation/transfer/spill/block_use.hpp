// SPDX-License-Identifier: Apache-2.0
// Decides by access statistics whether a block is better paged in 2 MiB chunks or by the kernel in single pages.
// Used by the pager of out-of-core memory (spill.hpp) and by its simulation (sim/engine/virtual_spill.hpp). Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

// Moving average of a thread's work between two waits for chunks. A core needs a minimum time to read a whole
// chunk: below it, most of what is loaded is not used. Example: column-wise traversal of a row-major array.
class VisitWork {
 public:
  void on_visit(Seconds work) noexcept {
    average_ += spill_limits::k_average_weight * (std::min(work, k_max) - average_);
  }
  [[nodiscard]] bool is_sparse() const noexcept { return average_ < spill_limits::k_min_chunk_read_time; }

 private:
  static constexpr Seconds k_max = 16 * spill_limits::k_min_chunk_read_time;  // clamps outliers
  Seconds average_ = k_max;
};

// Access statistics of the latest chunk loads of a block that threads waited for.
//
// Blocks may be pieces of one heap, as allocators map it (redis, R, Ruby): no piece is loaded often enough to be
// judged alone. Pieces are therefore judged by a second set of statistics as well: that of all pieces in the same
// region of the address space (spill_limits::k_heap_region_chunks). A piece's own loads must agree.
class BlockUse {
 public:
  // Records a demand load of a swapped-out chunk.
  void on_load(bool expected) noexcept { unexpected_.add(!expected); }
  // Records a wait for a chunk, swapped out or already being read.
  void on_wait(bool sparse) noexcept { sparse_.add(sparse); }
  [[nodiscard]] bool prefers_kernel_paging() const noexcept { return is_irregular() || most_are(sparse_); }
  [[nodiscard]] bool is_irregular() const noexcept { return most_are(unexpected_); }
  // Return the same for a block of `chunks` chunks that may be a piece of a heap. `heap`: statistics of all pieces
  // in its region, including its own.
  [[nodiscard]] bool prefers_kernel_paging(const BlockUse& heap, std::uint32_t chunks) const noexcept {
    return is_irregular(heap, chunks) || most_are(sparse_) ||
           (heap.most_are(heap.sparse_) && is_like(sparse_, chunks));
  }
  [[nodiscard]] bool is_irregular(const BlockUse& heap, std::uint32_t chunks) const noexcept {
    return is_irregular() || (heap.is_irregular() && is_like(unexpected_, chunks));
  }
  // Returns whether a block of so many chunks is judged together with its neighbours.
  [[nodiscard]] static bool is_piece(std::uint32_t chunks) noexcept {
    return chunks <= spill_limits::k_max_piece_chunks;
  }
  void reset() noexcept { unexpected_ = sparse_ = {}; }
  // Returns whether nothing was recorded since the last reset().
  [[nodiscard]] bool is_fresh() const noexcept { return sparse_.all == 0; }
  // Doubles the required number of loads, `times` times (exponential back-off).
  void back_off(std::uint32_t times) noexcept { refusals_ = std::min(refusals_ + times, 16U); }

 private:
  struct Share {  // moving average
    std::uint32_t all = 0;
    double value = 0;
    double weight = 0;  // total weight of all samples within `value`
    void add(bool one) noexcept {
      ++all;
      value += spill_limits::k_average_weight * ((one ? 1 : 0) - value);
      weight += spill_limits::k_average_weight * (1 - weight);
    }
  };
  [[nodiscard]] bool most_are(const Share& share) const noexcept {
    return share.all >= spill_limits::min_loads_for_handover(refusals_) &&
           share.value >= spill_limits::k_handover_share;
  }
  // Returns whether a piece's own few loads agree with those of its neighbours.
  [[nodiscard]] bool is_like(const Share& own, std::uint32_t chunks) const noexcept {
    const auto enough = std::uint64_t{std::min(chunks, spill_limits::k_min_own_loads)} << refusals_;
    return is_piece(chunks) && own.all >= enough && own.value >= spill_limits::k_handover_share * own.weight;
  }

  Share unexpected_, sparse_;
  std::uint32_t refusals_ = 0;
};

// Trial of kernel paging for a sparsely used block. It passes where the working set of pages fits into memory, so
// that waits soon become rare; or where the program computes for a larger share of the time than it did with
// chunks.
class PageTrial {
 public:
  struct Sample {    // cumulative
    Seconds waited;  // of the program's threads, for pages that the kernel reads
    Seconds worked;  // by these threads
    Seconds time;
  };
  // Starts a trial. `since` and `until` frame an interval in which the block was in chunks: the reference.
  void begin(const Sample& now, const Sample& since, const Sample& until) noexcept {
    const auto time = until.time - since.time;
    share_ = time.value > 0 ? (until.worked - since.worked) / time : 0;
    restart(now);
  }
  void restart(const Sample& now) noexcept {
    begun_ = now;
    half_.reset();
  }
  void end() noexcept { begun_.reset(); }
  [[nodiscard]] bool is_running() const noexcept { return begun_.has_value(); }
  [[nodiscard]] bool has_midpoint() const noexcept { return half_.has_value(); }
  // Records the sample in the middle of the trial period.
  void set_midpoint(const Sample& sample) noexcept { half_ = sample; }
  // Judges at the end of the period.
  [[nodiscard]] bool is_passed(const Sample& seen) const noexcept {
    const auto half = half_.value_or(seen);
    const auto before = half.waited - begun_.value_or(half).waited;
    const auto after = seen.waited - half.waited;
    const auto since = seen.time - half.time;
    return 2 * after < before || after < spill_limits::k_max_wait_share * since ||
           seen.worked - half.worked > share_ * since;
  }

 private:
  std::optional<Sample> begun_, half_;
  double share_ = 0;  // share of time spent computing while the block was in chunks
};

}  // namespace terrace::transfer
