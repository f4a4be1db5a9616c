// SPDX-License-Identifier: Apache-2.0
// Merges the access logs of the 32 lanes of a warp into the warp's steps, with coalesced line parts. Called by
// Device at each barrier and at the end of a warp. See warp_merger.hpp.
#include "gpu_sim/simt/warp_merger.hpp"

#include <algorithm>
#include <bit>

#include "gpu_sim/trace/warp_trace.hpp"

namespace terrace::gpu_sim {

void WarpMerger::start() {
  for (auto& loads : load_of_) loads.fill(0);
  steps_.clear();
  lines_.clear();
  loads_ = left_ = 0;
  waited_ = 0;
}

void WarpMerger::add(std::span<LaneLog> lanes) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto& accesses = lanes[i].accesses();
    heads_[i] = {accesses.data(), accesses.data() + accesses.size()};
  }
  for (auto i = lanes.size(); i < k_lanes; ++i) heads_[i] = {};
  while (const auto group = next_group()) add_access(group, lanes);

  // Instructions and uses after the last accesses.
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto uses = std::span(lanes[i].uses()).subspan(lanes[i].first_use_left());
    add_uses(uses, static_cast<std::uint32_t>(i));
    longest = std::max(longest, lanes[i].instructions_left());
  }
  emit_uses(longest);
  for (auto& lane : lanes) lane.clear();
}

void WarpMerger::add_barrier() {
  auto& step = steps_.emplace_back();
  step.before = left_;
  step.kind = StepKind::barrier;
  left_ = 0;
}

void WarpMerger::finish(Cta& cta) {
  auto& warp = cta.warps.emplace_back();
  warp.first_step = static_cast<std::uint32_t>(cta.steps.size());
  warp.first_line = static_cast<std::uint32_t>(cta.lines.size());
  warp.steps = static_cast<std::uint32_t>(steps_.size());
  warp.after = left_;
  cta.steps.insert(cta.steps.end(), steps_.begin(), steps_.end());
  cta.lines.insert(cta.lines.end(), lines_.begin(), lines_.end());
}

std::uint32_t WarpMerger::next_group() const {
  const LaneAccess* lowest = nullptr;
  std::uint32_t group = 0;
  for (std::uint32_t i = 0; i < k_lanes; ++i) {
    const auto* next = heads_[i].next;
    if (next == heads_[i].end) continue;
    if (lowest == nullptr || next->position < lowest->position) {
      lowest = next;
      group = 1U << i;
    } else if (next->position == lowest->position) {
      group |= 1U << i;
    }
  }
  return group;
}

// Appends the access that the lanes of the group make together.
void WarpMerger::add_access(std::uint32_t group, std::span<LaneLog> lanes) {
  std::uint32_t longest = 0;
  for (auto left = group; left != 0; left &= left - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
    const auto& access = *heads_[i].next;
    const bool last = heads_[i].next + 1 == heads_[i].end;
    const auto uses_end = last ? lanes[i].first_use_left() : heads_[i].next[1].first_use;
    add_uses(std::span(lanes[i].uses()).subspan(access.first_use, uses_end - access.first_use), i);
    longest = std::max(longest, access.instructions);
  }
  emit_uses(longest);

  const auto& first = *heads_[static_cast<std::uint32_t>(std::countr_zero(group))].next;
  Step step;
  step.before = left_;
  step.kind = first.kind;
  step.lanes = static_cast<std::uint8_t>(std::popcount(group));
  left_ = 0;
  gather_lines(group, step);
  if (returns_value(step.kind)) {
    ++loads_;
    waited_ &= ~(std::uint64_t{1} << (loads_ % LaneLog::k_max_tracked_loads));
  }
  steps_.push_back(step);
  for (auto left = group; left != 0; left &= left - 1) {
    const auto i = static_cast<std::uint32_t>(std::countr_zero(left));
    if (heads_[i].next->load != 0) load_of_[i][heads_[i].next->load % LaneLog::k_max_tracked_loads] = loads_;
    ++heads_[i].next;
  }
}

void WarpMerger::add_uses(std::span<const LaneUse> uses, std::uint32_t lane) {
  for (const auto& use : uses) {
    const auto load = load_of_[lane][use.load % LaneLog::k_max_tracked_loads];
    if (load + LaneLog::k_max_tracked_loads <= loads_) continue;
    const auto bit = std::uint64_t{1} << (load % LaneLog::k_max_tracked_loads);
    if ((waited_ & bit) != 0) continue;
    waited_ |= bit;
    pending_uses_.push_back({use.instructions, load});
  }
}

// Appends the pending waits for loads as steps, at their places among `instructions`.
void WarpMerger::emit_uses(std::uint32_t instructions) {
  std::stable_sort(pending_uses_.begin(), pending_uses_.end(),
                   [](const auto& a, const auto& b) { return a.instructions < b.instructions; });
  std::uint32_t counted = 0;
  for (const auto& use : pending_uses_) {
    auto& step = steps_.emplace_back();
    step.before = left_ + use.instructions - counted;
    step.back = loads_ - use.load + 1;
    step.kind = StepKind::use;
    counted = use.instructions;
    left_ = 0;
  }
  left_ += instructions - counted;
  pending_uses_.clear();
}

void WarpMerger::gather_lines(std::uint32_t group, Step& step) {
  const auto first = lines_.size();
  for (auto left = group; left != 0; left &= left - 1) {
    const auto& access = *heads_[static_cast<std::uint32_t>(std::countr_zero(left))].next;
    coalesce(lines_, first, access.address, access.bytes);
  }
  step.lines = static_cast<std::uint8_t>(lines_.size() - first);
}

}  // namespace terrace::gpu_sim
