// SPDX-License-Identifier: Apache-2.0
// Records the sequence of chunks that one thread touches, and finds the thread's position in its own history, for
// BeladyPolicy. Programs repeat themselves: the touches that followed last time are expected to follow now.
//
// Touches of mapped chunks do not fault and go unnoticed. So if a touch is noticed that was expected after some
// unnoticed ones, those are assumed to have happened, and are recorded.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/identifiers.hpp"
#include "core/units.hpp"

namespace terrace::strategy {

class TouchHistory {
 public:
  using IsUnnoticed = std::function<bool(ChunkId)>;

  enum class Match : std::uint8_t {
    expected,  // the thread has advanced to this touch; `passed` are the chunks before it
    nearby,    // it was expected shortly before: two adjacent touches changed their order
    extra,     // it was not expected, and does not change the thread's position
    elsewhere  // the thread is at another position of its history, or at none
  };
  // Records a touch. `worked`: seconds of work since the thread's last touch.
  Match add(ChunkId chunk, Seconds worked, const IsUnnoticed& is_unnoticed, std::vector<ChunkId>& passed);

  // Return when the thread uses the chunk next, and its own position, both in seconds of work of the history;
  // none, and 0, if unknown.
  [[nodiscard]] std::optional<double> next_use(ChunkId chunk) const;
  [[nodiscard]] double here() const { return at_ == k_nowhere ? 0 : touches_[at_].at; }
  [[nodiscard]] std::size_t size() const { return touches_.size(); }
  // Returns how many touches ago the thread was at this position before; 0 if unknown.
  [[nodiscard]] std::size_t period() const { return at_ == k_nowhere ? 0 : touches_.size() - 1 - at_; }
  // Returns the chunk of the nth expected touch from now on; the next one is 0.
  [[nodiscard]] std::optional<ChunkId> expected(std::size_t nth) const;
  // Returns the seconds of work before that touch. Requires: expected(nth).
  [[nodiscard]] double work_before(std::size_t nth) const { return touches_[at_ + 1 + nth].worked; }
  // Returns the work done so far, in the seconds that each part took when it was first recorded, so that repeated
  // work always counts the same.
  [[nodiscard]] double done() const { return done_; }
  // Returns the share of recent touches that were expected, corrected for chance: 0 for random touches, 1 if all
  // came as expected.
  [[nodiscard]] double hit_share() const { return std::max((hits_ - chance_) / (1 - chance_), 0.0); }

 private:
  static constexpr std::size_t k_nowhere = ~std::size_t{0};
  // The length of the history: k_of_chunk touches per chunk, within [k_min_length, k_max_length]. A thread needs
  // two periods to repeat itself.
  static constexpr std::size_t k_of_chunk = 64;
  static constexpr std::size_t k_min_length = 4096;
  static constexpr std::size_t k_max_length = std::size_t{1} << 22;
  static constexpr std::size_t k_missed = 4;    // max expected touches that may be missing between two others
  static constexpr std::size_t k_tried = 32;    // max earlier touches of a chunk that are compared
  static constexpr std::size_t k_context = 32;  // max preceding touches that are compared
  static constexpr std::size_t k_nearby = 32;   // expected touches just passed that count as nearby
  static constexpr std::size_t k_extra = 8;     // consecutive unexpected touches until the thread is elsewhere,
  static constexpr std::size_t k_alike = 5;     // or touches in the same order at another position

  struct Touch {
    ChunkId chunk = 0;
    float worked = 0;  // seconds of work before it
    float first = 0;   // the same when it was first recorded
    double at = 0;     // total work until it
  };

  [[nodiscard]] std::size_t next_of(ChunkId chunk) const;
  [[nodiscard]] std::size_t find_ahead(ChunkId chunk, double worked, const IsUnnoticed& is_unnoticed) const;
  [[nodiscard]] bool is_nearby(ChunkId chunk) const;
  [[nodiscard]] double chance(const IsUnnoticed& is_unnoticed) const;
  struct SimilarContext {
    std::size_t at = k_nowhere;
    std::size_t touches = 0;  // in common
  };
  [[nodiscard]] SimilarContext find_similar_context() const;
  Match add_unexpected(ChunkId chunk, double worked, bool nearby, const IsUnnoticed& is_unnoticed);
  void go_to(std::size_t at);
  void append(ChunkId chunk, double worked, double first);
  double append_unnoticed(double worked, const IsUnnoticed& is_unnoticed);
  void forget_half();

  std::vector<Touch> touches_;
  std::unordered_map<ChunkId, std::vector<std::size_t>> of_chunk_;  // its touches, in order
  std::size_t at_ = k_nowhere;                                      // the touch that the latest one repeats
  std::size_t extra_ = 0;                                           // unexpected ones since then
  double since_ = 0;                                                // seconds of work since then
  double done_ = 0;
  double hits_ = 0, chance_ = 0;
};

}  // namespace terrace::strategy
