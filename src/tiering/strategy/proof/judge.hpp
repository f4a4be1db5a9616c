// Whether a placement made iterations faster or slower than they were without it, beyond noise.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace terrace::strategy {

// Times of iterations under one placement. The last few are kept: what a program does may change slowly.
class IterationTimes {
 public:
  static constexpr std::size_t k_kept = 64;

  // `work`: what the program's main thread had of a processor in that time.
  void add(Seconds time, Seconds work);
  void forget() { *this = {}; }
  // Of the program, however many are kept.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Enough to compare by: single short ones are told by clocks, and by who reads them, more than by what they do.
  [[nodiscard]] bool is_enough() const { return count_ >= k_many || (count_ > 0 && total_ >= k_long); }
  static constexpr std::uint64_t k_many = 16;
  static constexpr Seconds k_long{0.1};
  // Of those kept; 0 where there are none.
  [[nodiscard]] Seconds median() const;
  [[nodiscard]] Seconds median_work() const;
  [[nodiscard]] Seconds min() const;
  [[nodiscard]] Seconds max() const;
  // The last of those kept, at most so many.
  [[nodiscard]] IterationTimes last(std::size_t count) const;
  // Not where the second half of those kept takes longer than the first, or the other way round: then it is the
  // program that changes.
  [[nodiscard]] bool is_steady() const;

 private:
  [[nodiscard]] IterationTimes part(std::size_t first, std::size_t count) const;

  std::vector<Seconds> times_;  // the oldest is at count_ % k_kept once so many are there
  std::vector<Seconds> works_;  // the same
  std::uint64_t count_ = 0;
  Seconds total_;  // of all
};

// Iterations that differ by less are taken for alike.
inline constexpr double k_noise = 0.05;

// Whether the second takes longer: each of its times than each of the first, and the medians by more than noise.
[[nodiscard]] bool takes_longer(const IterationTimes& first, const IterationTimes& second);

// How long the second's iterations take, as far as that is the placement's doing: where other programs had the
// processor for more of the time before, the gain is no larger than that of the work of the main thread; not where
// that mostly waits for others.
[[nodiscard]] Seconds placed_time(const IterationTimes& first, const IterationTimes& second);

// Iterations without a placement and with it that are neighbours in time: what a program does may change by
// itself, and over a long run does.
struct Evidence {
  static constexpr std::size_t k_max = 16;  // on each side

  IterationTimes without, with;
  [[nodiscard]] bool is_steady() const { return without.is_steady() && with.is_steady(); }
};

// What an iteration takes less than before, as a share of that; negative where it takes longer. 0 where one is
// unknown.
[[nodiscard]] double gain(Seconds before, Seconds after);

}  // namespace terrace::strategy
