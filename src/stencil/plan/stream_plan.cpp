// SPDX-License-Identifier: Apache-2.0
// Assigns chunks (units of transfer) of the datasets to the steps of an out-of-core chain, and counts how many
// must be resident at once. Called by the executors `streamed` and `gpu` and by their model in virtual time.
#include "stencil/plan/stream_plan.hpp"

#include <algorithm>
#include <map>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {
namespace {

bool keeps(const DatasetInfo& info, const StreamLayout& layout, const Range& points) {
  return !layout.is_temporary[info.id] || info.keeps(points);
}

}  // namespace

// Returns the points of a chunk; plans decide by them whether it is fetched or written back.
Range points_of(const DatasetInfo& info, const StreamLayout& layout, std::uint32_t chunk) {
  const auto d = info.slow_dimension();
  const auto stride = static_cast<std::ptrdiff_t>(info.element) * (d == 2 ? info.plane : d == 1 ? info.row : 1);
  const auto shift = static_cast<std::ptrdiff_t>(layout.shift_of(info));
  const auto size = static_cast<std::ptrdiff_t>(layout.chunk);
  const auto begin = std::max<std::ptrdiff_t>(chunk * size - shift, 0) / stride;
  const auto end = ((chunk + 1) * size - shift + stride - 1) / stride;
  auto range = info.range;
  range.begin[d] = info.range.begin[d] + std::min(begin, info.range.length(d));
  range.end[d] = info.range.begin[d] + std::clamp<std::ptrdiff_t>(end, 0, info.range.length(d));
  return range;
}

ChunkRange chunks_of(const DatasetInfo& info, const StreamLayout& layout, const Range& range) {
  const Point last{range.end[0] - 1, range.end[1] - 1, range.end[2] - 1};
  const auto begin = layout.shift_of(info) + static_cast<std::size_t>(info.offset(range.begin));
  const auto end = layout.shift_of(info) + static_cast<std::size_t>(info.offset(last)) + info.element;
  return {static_cast<std::uint32_t>(begin / layout.chunk),
          static_cast<std::uint32_t>((end + layout.chunk - 1) / layout.chunk)};
}

std::vector<bool> kept_chunks(const DatasetInfo& info, const StreamLayout& layout) {
  std::vector<bool> kept;
  for (std::uint32_t chunk = 0; chunk < layout.chunks(info); ++chunk)
    kept.push_back(keeps(info, layout, points_of(info, layout, chunk)));
  return kept;
}

// Counts arrivals and departures of chunks by step; executors compare the maximum with their memory.
std::size_t most_chunks_of(const StreamPlan& plan, std::size_t steps) {
  std::vector<std::size_t> comes(plan.steps.size() + 1, 0), leaves(plan.steps.size() + 1, 0);
  for (const auto& use : plan.uses) {
    ++comes[use.first + 1 < steps ? 0 : use.first + 1 - steps];
    ++leaves[use.last + 1];
  }
  std::size_t there = 0, most = 0;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    there = there + comes[s] - leaves[s];
    most = std::max(most, there);
  }
  return most;
}

StreamPlan plan_stream(std::span<const Loop> chain, const TilePlan& tiles, std::size_t outer,
                       std::size_t tiles_in_step, std::span<const DatasetInfo> infos, const StreamLayout& layout) {
  StreamPlan plan;
  const auto count = tiles.tiles()[outer];
  std::map<ChunkId, ChunkUse> uses;
  for (std::size_t first = 0; first < count; first += tiles_in_step) {
    const StreamStep step{first, std::min(first + tiles_in_step, count)};
    const auto number = static_cast<std::uint32_t>(plan.steps.size());
    std::map<DatasetId, Range> used;
    for (std::size_t l = 0; l < chain.size(); ++l) {
      const auto part = tiles.part_of_all(l, outer, step.first_tile, step.last_tile);
      if (part.empty()) continue;
      for (const auto& argument : chain[l].arguments) {
        auto [found, is_new] = used.try_emplace(argument.dataset, Range{{0, 0}, {0, 0}, {0, 0}});
        found->second = hull(found->second, reached_range(part, argument));
      }
    }
    for (const auto& [dataset, range] : used) {
      const auto chunks = chunks_of(infos[dataset], layout, range);
      for (auto c = chunks.begin; c < chunks.end; ++c) {
        auto& use = uses.try_emplace(ChunkId{dataset, c}, ChunkUse{{dataset, c}, number, number, false, false})
                        .first->second;
        use.last = number;
      }
    }
    plan.steps.push_back(step);
  }
  const auto of_datasets = uses_of(chain);
  for (auto& [id, use] : uses) {
    const auto& of = of_datasets.at(id.dataset);
    const auto& info = infos[id.dataset];
    const auto points = points_of(info, layout, id.number);
    use.is_written = of.written.touches(points);
    // Points that the step leaves unchanged must be resident when the chunk is stored, or read later.
    use.is_fetched = of.needed.touches(points) || (keeps(info, layout, points) && !of.written.covers(points));
    plan.uses.push_back(use);
  }
  std::ranges::stable_sort(plan.uses, {}, &ChunkUse::first);
  plan.most_chunks = most_chunks_of(plan);
  return plan;
}

}  // namespace terrace::stencil
