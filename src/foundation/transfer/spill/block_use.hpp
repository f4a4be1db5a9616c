// Whether chunks serve a block, or the kernel's single pages: the same on the real machine (spill.hpp) and in
// virtual time (sim/engine/virtual_spill.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "transfer/spill/spill_limits.hpp"

namespace terrace::transfer {

// What a thread works from one chunk that it has to wait for to the next, on average. No core reads all of a chunk
// in less than a certain time: where the average is below, most of what comes in is not used. It is so where a
// program goes through the columns of an array that has rows.
class VisitWork {
 public:
  void visited(Seconds work) noexcept { average_ += spill_limits::k_weight * (std::min(work, k_max) - average_); }
  [[nodiscard]] bool is_sparse() const noexcept { return average_ < spill_limits::k_whole_visit; }

 private:
  static constexpr Seconds k_max = 16 * spill_limits::k_whole_visit;  // one long stretch is soon forgotten
  Seconds average_ = k_max;
};

// Counts how the latest chunks of a block were touched that somebody waited for.
//
// Blocks may be pieces of one heap, as allocators map it (redis, R, Ruby): no piece is loaded often enough to be
// judged alone. So pieces are judged together with their neighbours, by a second count: that of all pieces in the
// same part of the address space (spill_limits::k_heap). A piece's own loads have the last word.
class BlockUse {
 public:
  // From the disk, and nobody had asked for it before.
  void loaded(bool expected) noexcept { unexpected_.add(!expected); }
  // Whether it was on its way already or not.
  void waited(bool sparse) noexcept { sparse_.add(sparse); }
  [[nodiscard]] bool is_for_pages() const noexcept { return is_in_no_order() || most_are(sparse_); }
  [[nodiscard]] bool is_in_no_order() const noexcept { return most_are(unexpected_); }
  // Return the same for a block of `chunks` chunks that may be a piece of a heap. `heap`: counts of all blocks
  // in its region, including its own.
  [[nodiscard]] bool is_for_pages(const BlockUse& heap, std::uint32_t chunks) const noexcept {
    return is_in_no_order(heap, chunks) || most_are(sparse_) ||
           (heap.most_are(heap.sparse_) && is_like(sparse_, chunks));
  }
  [[nodiscard]] bool is_in_no_order(const BlockUse& heap, std::uint32_t chunks) const noexcept {
    return is_in_no_order() || (heap.is_in_no_order() && is_like(unexpected_, chunks));
  }
  // Whether a block of so many chunks is judged together with its neighbours.
  [[nodiscard]] static bool is_piece(std::uint32_t chunks) noexcept { return chunks <= spill_limits::k_piece; }
  void begin_anew() noexcept { unexpected_ = sparse_ = {}; }
  // Nothing was seen since then.
  [[nodiscard]] bool is_new() const noexcept { return sparse_.all == 0; }
  // It is twice as long until it is for pages again, so many times over.
  void refuse(std::uint32_t times) noexcept { refusals_ = std::min(refusals_ + times, 16U); }

 private:
  struct Share {  // of the latest
    std::uint32_t all = 0;
    double value = 0;
    double weight = 0;  // of all that were seen, within `value`
    void add(bool one) noexcept {
      ++all;
      value += spill_limits::k_weight * ((one ? 1 : 0) - value);
      weight += spill_limits::k_weight * (1 - weight);
    }
  };
  [[nodiscard]] bool most_are(const Share& share) const noexcept {
    return share.all >= spill_limits::loads_before_giving(refusals_) && share.value >= spill_limits::k_strange;
  }
  // Whether a piece's own few loads agree with those of its neighbours.
  [[nodiscard]] bool is_like(const Share& own, std::uint32_t chunks) const noexcept {
    const auto enough = std::uint64_t{std::min(chunks, spill_limits::k_own_loads)} << refusals_;
    return is_piece(chunks) && own.all >= enough && own.value >= spill_limits::k_strange * own.weight;
  }

  Share unexpected_, sparse_;
  std::uint32_t refusals_ = 0;
};

// Whether pages serve a block whose chunks were used in part: they do where most of those that are used fit into
// the memory, so that soon few are waited for any more; or where the program works more of the time than it did
// with chunks.
class PageTrial {
 public:
  struct Seen {
    Seconds waited;  // for pages that the kernel reads, by the program's threads
    Seconds worked;  // by them
    Seconds time;
  };
  // Between the other two the block was in chunks.
  void begin(const Seen& now, const Seen& since, const Seen& until) noexcept {
    const auto time = until.time - since.time;
    share_ = time.value > 0 ? (until.worked - since.worked) / time : 0;
    go_on(now);
  }
  void go_on(const Seen& now) noexcept {
    begun_ = now;
    half_.reset();
  }
  void end() noexcept { begun_.reset(); }
  [[nodiscard]] bool is_on() const noexcept { return begun_.has_value(); }
  [[nodiscard]] bool has_looked() const noexcept { return half_.has_value(); }
  // In the middle of the time that the kernel has the block.
  void look(const Seen& seen) noexcept { half_ = seen; }
  // At its end.
  [[nodiscard]] bool is_passed(const Seen& seen) const noexcept {
    const auto half = half_.value_or(seen);
    const auto before = half.waited - begun_.value_or(half).waited;
    const auto after = seen.waited - half.waited;
    const auto since = seen.time - half.time;
    return 2 * after < before || after < spill_limits::k_waiting * since ||
           seen.worked - half.worked > share_ * since;
  }

 private:
  std::optional<Seen> begun_, half_;
  double share_ = 0;  // of the time that the program worked while the block was in chunks
};

}  // namespace terrace::transfer
