// SPDX-License-Identifier: Apache-2.0
// Selects victims by a plan's preferences, and leaves everything else to the Belady policy, for the pager under
// `terrace run --memory`; --plan FILE sets the preferences. See plan_guided_policy.hpp.
#include "strategy/spill/plan_guided_policy.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace terrace::strategy {

using transfer::PageState;
using transfer::Preference;

// Returns nullptr if out of memory: then the Belady policy alone decides.
PlanGuidedPolicy::ChunkState* PlanGuidedPolicy::find_state(ChunkId chunk) noexcept {
  try {
    if (chunk >= states_.size()) states_.resize(chunk + 1);
  } catch (const std::exception&) {
    return nullptr;
  }
  return &states_[chunk];
}

bool PlanGuidedPolicy::on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept {
  ++touches_;
  if (auto* const one = find_state(chunk)) {
    remove(chunk);
    one->used = true;
    one->touched = touches_;
    insert(chunk);
  }
  return base_->on_access(chunk, thread, worked);
}

transfer::PredictionTotals PlanGuidedPolicy::predicted(const transfer::SpillStatistics& measured) noexcept {
  const auto told = base_->predicted(measured);
  const auto [taken, done] = base_->progress();
  if (has_evicted_ && has_preferences_) trial_.record(taken, done, base_->is_known());
  return told;
}

PlanGuidedPolicy::Oldest* PlanGuidedPolicy::order_of(const ChunkState& state) {
  if (!state.used || (state.residence != PageState::mapped && state.residence != PageState::unmapped_resident))
    return nullptr;
  if (state.preference == Preference::keep) return nullptr;
  return state.preference == Preference::evict_first ? &leave_ : &others_;
}

void PlanGuidedPolicy::insert(ChunkId chunk) {
  try {
    if (auto* const order = order_of(states_[chunk])) order->emplace(states_[chunk].touched, chunk);
  } catch (const std::exception&) {  // out of memory: the Belady policy decides on it
  }
}

void PlanGuidedPolicy::remove(ChunkId chunk) {
  if (auto* const order = order_of(states_[chunk])) order->erase({states_[chunk].touched, chunk});
}

void PlanGuidedPolicy::on_state_change(ChunkId chunk, PageState to) noexcept {
  returned_victims_.clear();
  if (to == PageState::swapped_out) has_evicted_ = true;
  if (auto* const one = find_state(chunk)) {
    remove(chunk);
    if (one->residence == PageState::swapped_out || one->residence == PageState::empty) one->used = false;
    if (to == PageState::mapped) one->used = true;
    one->residence = to;
    insert(chunk);
  }
  base_->on_state_change(chunk, to);
}

// Returns the least recently used chunk that was not used within k_grace touches, nor returned already.
std::optional<transfer::ReplacementPolicy::Choice> PlanGuidedPolicy::oldest(const Oldest& chunks) {
  for (const auto& [touched, chunk] : chunks) {
    if (touched + k_grace > touches_) return {};
    if (std::ranges::count(returned_victims_, chunk) > 0) continue;
    try {
      returned_victims_.push_back(chunk);
    } catch (const std::exception&) {
      return {};
    }
    return Choice{chunk, std::numeric_limits<double>::max()};
  }
  return {};
}

std::optional<transfer::ReplacementPolicy::Choice> PlanGuidedPolicy::next_victim() noexcept {
  if (!trial_.is_in_force()) return base_->next_victim();
  if (const auto first = oldest(leave_)) return first;
  std::optional<Choice> staying;
  for (int tried = 0; tried < k_tried; ++tried) {
    const auto choice = base_->next_victim();
    if (!choice) break;
    if (std::ranges::count(returned_victims_, choice->chunk) > 0) continue;
    if (choice->chunk >= states_.size() || states_[choice->chunk].preference != Preference::keep) return choice;
    if (!staying) staying = choice;
  }
  if (!staying) return {};
  if (const auto other = oldest(others_)) return other;
  return staying;  // rather than none
}

void PlanGuidedPolicy::prefer(ChunkId first, std::uint32_t count, Preference preference) noexcept {
  has_preferences_ = has_preferences_ || preference != Preference::none;
  for (auto chunk = first; chunk < first + count; ++chunk)
    if (auto* const one = find_state(chunk)) {
      remove(chunk);
      one->preference = preference;
      insert(chunk);
    }
}

transfer::PlanVerdict PlanGuidedPolicy::verdict() const noexcept { return {trial_.gain(), trial_.is_undone()}; }

}  // namespace terrace::strategy
