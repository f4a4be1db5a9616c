// What one thread touched, in order, and where in it the thread is again: programs repeat themselves, and what
// followed a touch the last time is what is expected to follow it now.
//
// Touches of chunks that are at their place go unnoticed. So a touch that was expected behind some of those is
// taken as a sign that they were touched too, and they are written down as if.
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
    expected,  // the thread has come on as far as the touch says; `passed` are the chunks before it
    nearby,    // it was expected not long before: of two neighbours in time the other one came first
    extra,     // it was not expected, and the thread goes on as if it had not been
    elsewhere  // it is where it was not expected to be
  };
  Match add(ChunkId chunk, Seconds worked, const IsUnnoticed& is_unnoticed, std::vector<ChunkId>& passed);

  // When the thread uses the chunk next, and where it is itself, in seconds of work of which each touch that is
  // written down has its own; none, and 0, where that is not known.
  [[nodiscard]] std::optional<double> next_use(ChunkId chunk) const;
  [[nodiscard]] double here() const { return at_ == k_nowhere ? 0 : touches_[at_].at; }
  // So many touches ago it was here before; 0 where that is not known.
  [[nodiscard]] std::size_t size() const { return touches_.size(); }
  [[nodiscard]] std::size_t period() const { return at_ == k_nowhere ? 0 : touches_.size() - 1 - at_; }
  // The chunk that is expected as the nth touch from now on, the next one being 0.
  [[nodiscard]] std::optional<ChunkId> expected(std::size_t nth) const;
  // Seconds of work before that touch, where it is expected.
  [[nodiscard]] double work_before(std::size_t nth) const { return touches_[at_ + 1 + nth].worked; }
  // The work done so far, in seconds that each piece of it took when it was first seen: how long the same work
  // takes now is no matter.
  [[nodiscard]] double done() const { return done_; }
  // Of the latest touches, the share that was expected when it came, beyond what chance would give: 0 where
  // touches come in no order, 1 where all come as expected.
  [[nodiscard]] double hit_share() const { return std::max((hits_ - chance_) / (1 - chance_), 0.0); }

 private:
  static constexpr std::size_t k_nowhere = ~std::size_t{0};
  // Touches that are kept: of each chunk so many, and never more. Whoever repeats itself needs two rounds.
  static constexpr std::size_t k_of_chunk = 64;
  static constexpr std::size_t k_shortest = 4096;
  static constexpr std::size_t k_longest = std::size_t{1} << 22;
  static constexpr std::size_t k_missed = 4;    // expected touches that may be missing between two others
  static constexpr std::size_t k_tried = 32;    // earlier touches of a chunk that are compared
  static constexpr std::size_t k_context = 32;  // touches before that are compared
  static constexpr std::size_t k_nearby = 32;   // expected touches that have just been passed
  static constexpr std::size_t k_extra = 8;     // unexpected touches, one after the other, until it is elsewhere,
  static constexpr std::size_t k_alike = 5;     // or so many that came in the same order somewhere else

  struct Touch {
    ChunkId chunk = 0;
    float worked = 0;  // seconds of work before it
    float first = 0;   // and when it was first seen
    double at = 0;     // of work in all
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
