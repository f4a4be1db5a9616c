// SPDX-License-Identifier: Apache-2.0
// Plans which points of a chain each rank computes, and which values it sends and receives before. Called by
// Distributed for each new chain. See rank_plan.hpp.
#include "stencil/ranks/rank_plan.hpp"

#include <algorithm>
#include <utility>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

constexpr std::ptrdiff_t k_min_depth = 8;
const Range k_nothing{{0, 0}, {0, 0}, {0, 0}};

// Returns the dataset's range, which is empty at first.
Range& at(std::map<DatasetId, Range>& ranges, DatasetId dataset) {
  return ranges.try_emplace(dataset, k_nothing).first->second;
}

// Returns the range of a loop that a rank computes: its own points, and those that its later loops depend on.
Range range_to_do(const Loop& loop, const Range& own, std::map<DatasetId, Range>& needed) {
  auto range = intersection(loop.range, own);
  for (const auto& argument : loop.arguments)
    if (writes(argument.access)) range = hull(range, intersection(loop.range, at(needed, argument.dataset)));
  return range;
}

class Planner {
 public:
  Planner(std::span<const Loop> chain, const Division& division, std::size_t rank, std::ptrdiff_t max_depth)
      : chain_(chain), division_(division), rank_(rank) {
    for (std::size_t d = 0; d < k_max_dims; ++d)
      max_depth_[d] = max_depth > 0 ? max_depth : std::max(division.narrowest(d) / 4, k_min_depth);
  }

  std::vector<RankPiece> plan() {
    if (!chain_.empty()) plan(0, chain_.size());
    return std::move(pieces_);
  }

 private:
  // Plans the loops [first, last) as one piece, or bisects them if a rank would need too many halo layers.
  void plan(std::size_t first, std::size_t last) {
    const auto loops = chain_.subspan(first, last - first);
    std::vector<RankWork> works;
    for (std::size_t rank = 0; rank < division_.ranks(); ++rank)
      works.push_back(work_of(loops, division_.own(rank)));
    const auto depth = depth_of(works);
    if (loops.size() > 1 && is_too_deep(depth)) {
      const auto middle = first + loops.size() / 2;
      plan(first, middle);
      plan(middle, last);
      return;
    }
    RankPiece piece;
    piece.first = first;
    piece.last = last;
    piece.depth = depth;
    add_traffic(loops, works, piece);
    piece.work = std::move(works[rank_]);
    // Data to send must be available, too.
    for (const auto* traffic : {&piece.sent, &piece.received})
      for (const auto& one : *traffic)
        for (const auto& transfer : one.transfers) {
          auto& used = at(piece.work.used, transfer.dataset);
          used = hull(used, transfer.range);
        }
    for (std::size_t l = 0; l < loops.size(); ++l) {
      auto done = loops[l];
      done.range = piece.work.ranges[l];
      piece.redundant_bytes += bytes_of(done);
      done.range = intersection(done.range, division_.own(rank_));
      piece.redundant_bytes -= bytes_of(done);
    }
    pieces_.push_back(std::move(piece));
  }

  [[nodiscard]] Point depth_of(const std::vector<RankWork>& works) const {
    Point depth{0, 0, 0};
    for (std::size_t rank = 0; rank < works.size(); ++rank)
      for (const auto& [dataset, range] : works[rank].used)
        for (std::size_t d = 0; d < k_max_dims; ++d)
          depth[d] = std::max(depth[d], division_.beyond(range, rank, d));
    return depth;
  }

  [[nodiscard]] bool is_too_deep(const Point& depth) const {
    for (std::size_t d = 0; d < k_max_dims; ++d)
      if (depth[d] > max_depth_[d]) return true;
    return false;
  }

  // Adds the transfers of all values from before the chain that a rank reads and another owns.
  void add_traffic(std::span<const Loop> loops, const std::vector<RankWork>& works, RankPiece& piece) const {
    for (const auto& [dataset, use] : uses_of(loops)) {
      if (!use.written.all().empty()) piece.written.insert(dataset);
      if (!use.needed.all().empty()) piece.needed.insert(dataset);
      for (std::size_t to = 0; to < works.size(); ++to) {
        const auto found = works[to].needed.find(dataset);
        if (found == works[to].needed.end()) continue;
        for (const auto& box : use.needed.all()) add_box(dataset, intersection(box, found->second), to, piece);
      }
    }
  }

  // Adds the transfers of a box that rank `to` needs, one from each owner.
  void add_box(DatasetId dataset, const Range& box, std::size_t to, RankPiece& piece) const {
    if (box.empty() || division_.own(to).contains(box)) return;
    for (std::size_t from = 0; from < division_.ranks(); ++from) {
      const auto range = intersection(box, division_.own(from));
      if (from == to || range.empty()) continue;
      piece.exchanged.insert(dataset);
      if (from == rank_) add_transfer(piece.sent, to, {dataset, range});
      if (to == rank_) add_transfer(piece.received, from, {dataset, range});
    }
  }

  // Sender and receiver enumerate transfers in the same order.
  static void add_transfer(std::vector<Traffic>& all, std::size_t rank, const Transfer& transfer) {
    auto found = std::ranges::find(all, rank, &Traffic::rank);
    if (found == all.end()) found = all.insert(all.end(), Traffic{rank, {}});
    found->transfers.push_back(transfer);
  }

  std::span<const Loop> chain_;
  const Division& division_;
  std::size_t rank_;
  Point max_depth_{};
  std::vector<RankPiece> pieces_;
};

}  // namespace

// Walks the loops backwards from the rank's own points; see rank_plan.hpp.
RankWork work_of(std::span<const Loop> chain, const Range& own) {
  RankWork work;
  work.ranges.assign(chain.size(), k_nothing);
  for (auto l = chain.size(); l-- > 0;) {
    const auto& loop = chain[l];
    if (loop.range.empty()) continue;
    const auto range = range_to_do(loop, own, work.needed);
    if (range.empty()) continue;
    work.ranges[l] = range;
    for (const auto& argument : loop.arguments) {
      auto& needed = at(work.needed, argument.dataset);
      // If the loop writes everything needed, no earlier values are.
      if (reads(argument.access))
        needed = hull(needed, read_range(range, argument));
      else if (loop.range.contains(needed))
        needed = k_nothing;
      auto& used = at(work.used, argument.dataset);
      used = hull(used, reached_range(range, argument));
    }
  }
  return work;
}

std::vector<RankPiece> plan_ranks(std::span<const Loop> chain, const Division& division, std::size_t rank,
                                  std::ptrdiff_t max_depth) {
  return Planner(chain, division, rank, max_depth).plan();
}

}  // namespace terrace::stencil
