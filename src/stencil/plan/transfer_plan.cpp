// SPDX-License-Identifier: Apache-2.0
// Bisects a transfer between blocks until the chunks of each part fit into memory, and lists them by step. Called
// by the executor `streamed` before it executes the transfer.
#include "stencil/plan/transfer_plan.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace terrace::stencil {
namespace {

// Collects the chunks of a range, by rows.
void add_chunks(std::vector<ChunkId>& chunks, const DatasetInfo& info, const StreamLayout& layout,
                const Range& range) {
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y) {
      const auto of_row = chunks_of(info, layout, {{range.begin[0], range.end[0]}, {y, y + 1}, {z, z + 1}});
      for (auto number = of_row.begin; number < of_row.end; ++number)
        if (const ChunkId id{info.id, number}; chunks.empty() || chunks.back() != id) chunks.push_back(id);
    }
}

// Cuts the target range recursively and collects the chunks that each part uses.
class Cutter {
 public:
  Cutter(const BlockTransfer& transfer, std::span<const DatasetInfo> infos, const StreamLayout& layout,
         std::size_t most)
      : transfer_(transfer), infos_(infos), layout_(layout), most_(most) {}

  // Adds a part of the target as a step, or each half of it recursively.
  void take(const Range& part) {
    auto chunks = chunks_of_part(part);
    std::size_t d = k_max_dims - 1;
    while (d > 0 && part.length(d) == 1) --d;
    if (chunks.size() <= most_ || part.length(d) == 1) {
      add(part, chunks);
      return;
    }
    auto first = part, second = part;
    first.end[d] = second.begin[d] = part.begin[d] + part.length(d) / 2;
    take(first);
    take(second);
  }

  [[nodiscard]] TransferPlan plan() {
    for (const auto& [id, use] : uses_) plan_.uses.push_back(use);
    std::ranges::stable_sort(plan_.uses, {}, &ChunkUse::first);
    plan_.most_chunks = most_chunks_of(plan_);
    return {std::move(parts_), std::make_shared<const StreamPlan>(std::move(plan_))};
  }

 private:
  [[nodiscard]] std::vector<ChunkId> chunks_of_part(const Range& part) const {
    std::vector<ChunkId> chunks;
    add_chunks(chunks, infos_[transfer_.from], layout_, source_of(transfer_, part));
    add_chunks(chunks, infos_[transfer_.to], layout_, part);
    std::ranges::sort(chunks);
    const auto [end, last] = std::ranges::unique(chunks);
    chunks.erase(end, last);
    return chunks;
  }

  void add(const Range& part, const std::vector<ChunkId>& chunks) {
    const auto number = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back(part);
    plan_.steps.push_back({number, number + 1U});
    for (const auto& id : chunks) uses_.try_emplace(id, first_use(id, number)).first->second.last = number;
  }

  [[nodiscard]] ChunkUse first_use(const ChunkId& id, std::uint32_t step) const {
    const auto is_target = id.dataset == transfer_.to;
    // Values that the transfer keeps or reads must be fetched.
    const auto is_covered = is_target && transfer_.from != transfer_.to &&
                            transfer_.to_range.contains(points_of(infos_[id.dataset], layout_, id.number));
    return {id, step, step, !is_covered, is_target};
  }

  const BlockTransfer& transfer_;
  std::span<const DatasetInfo> infos_;
  const StreamLayout& layout_;
  std::size_t most_;
  std::vector<Range> parts_;
  std::map<ChunkId, ChunkUse> uses_;
  StreamPlan plan_;
};

}  // namespace

std::optional<TransferPlan> plan_transfer(const BlockTransfer& transfer, std::span<const DatasetInfo> infos,
                                          const StreamLayout& layout, std::size_t frames) {
  Cutter cutter(transfer, infos, layout, frames / 4);
  cutter.take(transfer.to_range);
  auto plan = cutter.plan();
  if (plan.stream->most_chunks > frames) return std::nullopt;
  return plan;
}

}  // namespace terrace::stencil
