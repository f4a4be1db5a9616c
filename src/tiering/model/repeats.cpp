// SPDX-License-Identifier: Apache-2.0
// Finds the segment from which a phase repeats its use of data. make_plan() stores it in plans with moves, which
// then hold for phases that run for longer than profiled. See repeats.hpp.
#include "model/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/segment_name.hpp"

namespace terrace::model {
namespace {

constexpr std::size_t k_min_segments = 8;
constexpr double k_window = 0.25;  // window to compare, as a share of the phase's accesses
// Max difference of two equal windows' traffic by chunk, relative to their sum. Samples of equal usage differ by
// 0.4 with one or two samples per chunk and window; sweeps, which do not repeat, differ by 0.7 and more.
constexpr double k_max_difference = 0.5;

// Traffic of a segment to an object, in bytes per access of the program.
struct Rate {
  std::uint32_t object = 0;
  double bytes = 0;
};
using Rates = std::vector<Rate>;  // ascending by object

double bytes_of(const ItemCell& cell) { return cell.read_bytes + cell.write_bytes; }

// Returns a segment's traffic to each object, in bytes per access of the program.
Rates rates_of(const Problem& problem, const ProblemPhase& phase, double accesses) {
  Rates each, rates;
  for (const auto& cell : phase.cells)
    each.push_back({problem.items[cell.item].object, bytes_of(cell) / accesses});
  std::ranges::sort(each, {}, &Rate::object);
  for (const auto& rate : each) {
    if (rates.empty() || rates.back().object != rate.object) rates.push_back({rate.object, 0});
    rates.back().bytes += rate.bytes;
  }
  return rates;
}

// Returns the sum over all objects of the differences of two segments' rates.
double difference(const Rates& a, const Rates& b) {
  double sum = 0;
  auto x = a.begin(), y = b.begin();
  while (x != a.end() || y != b.end()) {
    const bool only_x = y == b.end() || (x != a.end() && x->object < y->object);
    const bool only_y = x == a.end() || (y != b.end() && y->object < x->object);
    sum += std::abs((only_y ? 0 : x->bytes) - (only_x ? 0 : y->bytes));
    if (!only_y) ++x;
    if (!only_x) ++y;
  }
  return sum;
}

// Segments of one phase, without the last, open-ended one, and their begins.
class Segments {
 public:
  Segments(const Problem& problem, std::uint32_t first, std::uint32_t last)
      : problem_(problem), first_(first), count_(last - first) {
    for (auto k = first; k <= last; ++k)
      begins_.push_back(static_cast<double>(segment_offset(problem.phases[k].name)));
    window_ = k_window * begins_.back();
  }
  // Returns the segment before which the usage equals that before the phase's end, with the least misalignment.
  [[nodiscard]] std::optional<std::uint32_t> find_repeated() {
    std::vector<double> at_end(problem_.items.size(), 0.0);
    const auto used_at_end = use(count_, 1, at_end);
    std::optional<std::uint32_t> found;
    double least = 0;
    for (std::uint32_t s = 1; s < count_; ++s) {
      if (begins_[s] < window_ || begins_[s] > begins_[count_] - window_) continue;
      auto differ = at_end;
      const auto used = used_at_end + use(s, -1, differ);
      double sum = 0;
      for (const auto bytes : differ) sum += std::abs(bytes);
      if (sum > k_max_difference * used) continue;
      const auto misaligned = misalignment(s);
      if (found && misaligned >= least) continue;
      found = first_ + s;
      least = misaligned;
    }
    return found;
  }

 private:
  // Adds `times` the window's traffic before the segment to `items`; returns its total bytes.
  double use(std::uint32_t segment, double times, std::vector<double>& items) const {
    double all = 0;
    for (auto k = segment; k-- > 0 && begins_[segment] - begins_[k + 1] < window_;) {
      const auto length = begins_[k + 1] - begins_[k];
      const auto share = std::min(1.0, (window_ - (begins_[segment] - begins_[k + 1])) / length);
      for (const auto& cell : problem_.phases[first_ + k].cells) {
        items[cell.item] += times * share * bytes_of(cell);
        all += share * bytes_of(cell);
      }
    }
    return all;
  }

  // Returns the difference, by object, of the windows before the segment and before the end at equal distances.
  [[nodiscard]] double misalignment(std::uint32_t segment) {
    find_differences();
    auto i = count_ - 1, j = segment - 1;
    double sum = 0;
    for (double back = 0; back < window_;) {
      const auto to_i = begins_[count_] - begins_[i], to_j = begins_[segment] - begins_[j];
      const auto next = std::min({to_i, to_j, window_});
      sum += (next - back) * differences_[i * count_ + j];
      back = next;
      if (to_i <= back && i > 0) --i;
      if (to_j <= back && j > 0) --j;
    }
    return sum;
  }
  // Computes the difference of each pair of segments, once.
  void find_differences() {
    if (!differences_.empty()) return;
    std::vector<Rates> rates;
    for (std::uint32_t k = 0; k < count_; ++k)
      rates.push_back(rates_of(problem_, problem_.phases[first_ + k], begins_[k + 1] - begins_[k]));
    for (const auto& a : rates)
      for (const auto& b : rates) differences_.push_back(difference(a, b));
  }

  const Problem& problem_;
  std::uint32_t first_, count_;
  std::vector<double> begins_;  // accesses since the phase's begin, open segment included
  double window_ = 0;           // accesses
  std::vector<double> differences_;
};

}  // namespace

std::vector<Repeat> find_repeats(const Problem& problem) {
  std::vector<Repeat> found;
  const auto phases = static_cast<std::uint32_t>(problem.phases.size());
  for (std::uint32_t first = 0, last = 0; first < phases; first = last + 1) {
    const auto offset = [&](std::uint32_t k) { return segment_offset(problem.phases[k].name); };
    last = first;
    while (last + 1 < phases && offset(last + 1) > offset(last)) ++last;
    if (offset(first) != 0 || last - first < k_min_segments) continue;
    if (const auto from = Segments(problem, first, last).find_repeated()) found.push_back({last, *from});
  }
  return found;
}

}  // namespace terrace::model
