// SPDX-License-Identifier: Apache-2.0
// Packs a rank's partial results of reductions, gathers those of all ranks, and combines them row by row. Called
// by Distributed after the loops of a chain.
#include "stencil/ranks/rank_results.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace terrace::stencil {
namespace {

// Identifies one reduction of one loop.
struct Use {
  std::size_t loop;
  std::size_t number;
};

// The partial results that a rank sends. For a sum, all rows in order; for minimum and maximum the deciding
// row, in place of the first.
class Part {
 public:
  Part(const Loop& loop, std::size_t use, const Range& own, const Reductions& results)
      : whole_(loop.range),
        range_(intersection(loop.range, own)),
        is_sum_(results.kind(loop.reductions[use].reduction) == ReductionKind::sum),
        size_(results.size(loop.reductions[use].reduction)) {}

  [[nodiscard]] std::size_t rows() const {
    return range_.empty() ? 0 : static_cast<std::size_t>(range_.length(1) * range_.length(2));
  }
  [[nodiscard]] std::size_t bytes() const { return (is_sum_ ? rows() : std::min<std::size_t>(rows(), 1)) * size_; }

  // Packs a rank's partial results into `to`.
  void pack(const RankResults::Kept& kept, std::size_t use, ReductionId reduction, const Reductions& results,
            std::byte* to) const {
    std::vector<std::byte> values(rows() * size_);
    for_rows([&](std::size_t number, std::ptrdiff_t y, std::ptrdiff_t z) {
      std::memcpy(&values[number * size_], &kept.partials[use][partial_row(kept.range, y, z) * size_], size_);
    });
    const auto best = is_sum_ ? 0 : results.best(reduction, values.data(), rows());
    std::memcpy(to, &values[best * size_], bytes());
  }

  // Unpacks into the rows of the whole loop.
  void unpack(const std::byte* from, std::vector<std::byte>& partials) const {
    for_rows([&](std::size_t number, std::ptrdiff_t y, std::ptrdiff_t z) {
      if (number * size_ < bytes())
        std::memcpy(&partials[partial_row(whole_, y, z) * size_], from + number * size_, size_);
    });
  }

 private:
  template <class Action>
  void for_rows(Action action) const {
    std::size_t number = 0;
    for (auto z = range_.begin[2]; z < range_.end[2]; ++z)
      for (auto y = range_.begin[1]; y < range_.end[1]; ++y) action(number++, y, z);
  }

  Range whole_;
  Range range_;
  bool is_sum_;
  std::size_t size_;
};

}  // namespace

void gather_results(std::span<const Loop> chain, std::span<const RankResults::Kept* const> done,
                    const Division& division, Ranks& ranks, Reductions& results) {
  std::vector<Use> uses;
  for (std::size_t l = 0; l < chain.size(); ++l)
    for (std::size_t number = 0; number < chain[l].reductions.size(); ++number) uses.push_back({l, number});
  if (uses.empty()) return;
  const auto part_of = [&](const Use& use, std::size_t rank) {
    return Part(chain[use.loop], use.number, division.own(rank), results);
  };
  std::vector<std::size_t> sizes(ranks.size(), 0);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const auto& use : uses) sizes[rank] += part_of(use, rank).bytes();
  std::vector<std::byte> own(sizes[ranks.rank()]);
  auto* to = own.data();
  for (const auto& use : uses) {
    const auto part = part_of(use, ranks.rank());
    if (part.bytes() == 0) continue;
    part.pack(*done[use.loop], use.number, chain[use.loop].reductions[use.number].reduction, results, to);
    to += part.bytes();
  }
  std::vector<std::byte> all(std::reduce(sizes.begin(), sizes.end()));
  ranks.gather(own, sizes, all);
  std::vector<const std::byte*> from;
  for (std::size_t rank = 0, at = 0; rank < ranks.size(); at += sizes[rank++]) from.push_back(all.data() + at);
  for (auto use = uses.begin(); use != uses.end();) {
    const auto& loop = chain[use->loop];
    auto partials = results.partials(loop);
    for (std::size_t number = 0; number < loop.reductions.size(); ++number, ++use)
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto part = part_of(*use, rank);
        if (part.bytes() == 0) continue;
        part.unpack(from[rank], partials[number]);
        from[rank] += part.bytes();
      }
    results.combine(loop, partials);
  }
}

}  // namespace terrace::stencil
