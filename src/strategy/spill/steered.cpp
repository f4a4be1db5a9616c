// See steered.hpp.
#include "strategy/spill/steered.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

namespace terrace::strategy {

using transfer::Preference;
using transfer::Residence;

// Null where there is no memory for it: then its use alone decides.
Steered::Known* Steered::known(ChunkId chunk) noexcept {
  try {
    if (chunk >= known_.size()) known_.resize(chunk + 1);
  } catch (const std::exception&) {
    return nullptr;
  }
  return &known_[chunk];
}

bool Steered::touched(ChunkId chunk, std::uint32_t thread, Seconds worked) noexcept {
  ++touches_;
  if (auto* const one = known(chunk)) {
    leave_.erase({one->touched, chunk});
    one->used = true;
    one->touched = touches_;
    place(chunk);
  }
  return use_->touched(chunk, thread, worked);
}

transfer::Predicted Steered::predicted(const transfer::SpillMeasured& measured) noexcept {
  if (is_short_ && is_spoken_of_) trial_.note(measured.now, measured.worked);
  return use_->predicted(measured);
}

bool Steered::may_leave_first(const Known& known) const {
  return known.preference == Preference::leave && known.used &&
         (known.residence == Residence::quiet || known.residence == Residence::ready);
}

void Steered::place(ChunkId chunk) {
  try {
    if (may_leave_first(known_[chunk])) leave_.emplace(known_[chunk].touched, chunk);
  } catch (const std::exception&) {  // no memory: it leaves as its use says
  }
}

void Steered::moved(ChunkId chunk, Residence to) noexcept {
  named_.clear();
  if (to == Residence::disk) is_short_ = true;
  if (auto* const one = known(chunk)) {
    leave_.erase({one->touched, chunk});
    if (one->residence == Residence::disk || one->residence == Residence::none) one->used = false;
    if (to == Residence::quiet) one->used = true;
    one->residence = to;
    place(chunk);
  }
  use_->moved(chunk, to);
}

std::optional<transfer::Foresight::Choice> Steered::next_victim() noexcept {
  if (!trial_.is_in_force()) return use_->next_victim();
  for (const auto& [touched, chunk] : leave_) {
    if (touched + k_grace > touches_) break;
    if (std::ranges::count(named_, chunk) > 0) continue;
    try {
      named_.push_back(chunk);
    } catch (const std::exception&) {
      break;
    }
    return Choice{chunk, std::numeric_limits<double>::max()};
  }
  std::optional<Choice> first;
  for (int tried = 0; tried < k_tried; ++tried) {
    const auto choice = use_->next_victim();
    if (!choice) return first;
    if (choice->chunk >= known_.size() || known_[choice->chunk].preference != Preference::stay) return choice;
    if (!first) first = choice;  // rather than none
  }
  return first;
}

void Steered::prefer(ChunkId first, std::uint32_t count, Preference preference) noexcept {
  is_spoken_of_ = is_spoken_of_ || preference != Preference::none;
  for (auto chunk = first; chunk < first + count; ++chunk)
    if (auto* const one = known(chunk)) {
      leave_.erase({one->touched, chunk});
      one->preference = preference;
      place(chunk);
    }
}

transfer::Verdict Steered::verdict() const noexcept { return {trial_.gain(), trial_.is_undone()}; }

}  // namespace terrace::strategy
