// See plan_guided_policy.hpp.
#include "strategy/spill/plan_guided_policy.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace terrace::strategy {

using transfer::Preference;
using transfer::PageState;

// Null where there is no memory for it: then its use alone decides.
PlanGuidedPolicy::Known* PlanGuidedPolicy::known(ChunkId chunk) noexcept {
  try {
    if (chunk >= known_.size()) known_.resize(chunk + 1);
  } catch (const std::exception&) {
    return nullptr;
  }
  return &known_[chunk];
}

bool PlanGuidedPolicy::on_access(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept {
  ++touches_;
  if (auto* const one = known(chunk)) {
    take(chunk);
    one->used = true;
    one->touched = touches_;
    place(chunk);
  }
  return use_->on_access(chunk, thread, worked);
}

transfer::PredictionTotals PlanGuidedPolicy::predicted(const transfer::SpillStatistics& measured) noexcept {
  const auto told = use_->predicted(measured);
  const auto [taken, done] = use_->progress();
  if (is_short_ && is_spoken_of_) trial_.note(taken, done, use_->is_known());
  return told;
}

PlanGuidedPolicy::Oldest* PlanGuidedPolicy::order_of(const Known& known) {
  if (!known.used || (known.residence != PageState::mapped && known.residence != PageState::unmapped_resident)) return nullptr;
  if (known.preference == Preference::keep) return nullptr;
  return known.preference == Preference::evict_first ? &leave_ : &others_;
}

void PlanGuidedPolicy::place(ChunkId chunk) {
  try {
    if (auto* const order = order_of(known_[chunk])) order->emplace(known_[chunk].touched, chunk);
  } catch (const std::exception&) {  // no memory: it leaves as its use says
  }
}

void PlanGuidedPolicy::take(ChunkId chunk) {
  if (auto* const order = order_of(known_[chunk])) order->erase({known_[chunk].touched, chunk});
}

void PlanGuidedPolicy::on_state_change(ChunkId chunk, PageState to) noexcept {
  named_.clear();
  if (to == PageState::swapped_out) is_short_ = true;
  if (auto* const one = known(chunk)) {
    take(chunk);
    if (one->residence == PageState::swapped_out || one->residence == PageState::empty) one->used = false;
    if (to == PageState::mapped) one->used = true;
    one->residence = to;
    place(chunk);
  }
  use_->on_state_change(chunk, to);
}

// That was not used just now, nor named already.
std::optional<transfer::ReplacementPolicy::Choice> PlanGuidedPolicy::oldest(const Oldest& chunks) {
  for (const auto& [touched, chunk] : chunks) {
    if (touched + k_grace > touches_) return {};
    if (std::ranges::count(named_, chunk) > 0) continue;
    try {
      named_.push_back(chunk);
    } catch (const std::exception&) {
      return {};
    }
    return Choice{chunk, std::numeric_limits<double>::max()};
  }
  return {};
}

std::optional<transfer::ReplacementPolicy::Choice> PlanGuidedPolicy::next_victim() noexcept {
  if (!trial_.is_in_force()) return use_->next_victim();
  if (const auto first = oldest(leave_)) return first;
  std::optional<Choice> staying;
  for (int tried = 0; tried < k_tried; ++tried) {
    const auto choice = use_->next_victim();
    if (!choice) break;
    if (std::ranges::count(named_, choice->chunk) > 0) continue;
    if (choice->chunk >= known_.size() || known_[choice->chunk].preference != Preference::keep) return choice;
    if (!staying) staying = choice;
  }
  if (!staying) return {};
  if (const auto other = oldest(others_)) return other;
  return staying;  // rather than none
}

void PlanGuidedPolicy::prefer(ChunkId first, std::uint32_t count, Preference preference) noexcept {
  is_spoken_of_ = is_spoken_of_ || preference != Preference::none;
  for (auto chunk = first; chunk < first + count; ++chunk)
    if (auto* const one = known(chunk)) {
      take(chunk);
      one->preference = preference;
      place(chunk);
    }
}

transfer::PlanVerdict PlanGuidedPolicy::verdict() const noexcept { return {trial_.gain(), trial_.is_undone()}; }

}  // namespace terrace::strategy
