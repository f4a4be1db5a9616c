// SPDX-License-Identifier: Apache-2.0
// Records a thread's touches of chunks and finds its position in its own history, for BeladyPolicy. See
// touch_history.hpp.
#include "strategy/spill/touch_history.hpp"

#include <algorithm>

namespace terrace::strategy {

namespace {

constexpr double k_faster = 2;  // max speedup over the recorded work if touches are missing
constexpr double k_max_chance = 0.95;
constexpr std::size_t k_max_counted = 1024;  // touches ahead counted for the chance; each touch costs that
constexpr double k_weight = 1.0 / 32;        // of the latest touch in the moving averages

}  // namespace

void TouchHistory::append(ChunkId chunk, double worked, double first) {
  done_ += first;
  const auto in_all = (touches_.empty() ? 0 : touches_.back().at) + worked;
  of_chunk_[chunk].push_back(touches_.size());
  touches_.push_back({chunk, static_cast<float>(worked), static_cast<float>(first), in_all});
}

// Returns the chunk's first touch after the thread's position.
std::size_t TouchHistory::next_of(ChunkId chunk) const {
  const auto known = of_chunk_.find(chunk);
  if (at_ == k_nowhere || known == of_chunk_.end()) return k_nowhere;
  const auto next = std::ranges::upper_bound(known->second, at_);
  return next == known->second.end() ? k_nowhere : *next;
}

// Returns next_of(chunk) if the touch can be that one: only few touches that would have been noticed were skipped,
// and if some were, the work was not far less than recorded.
std::size_t TouchHistory::find_ahead(ChunkId chunk, double worked, const IsUnnoticed& is_unnoticed) const {
  const auto found = next_of(chunk);
  if (found == k_nowhere) return k_nowhere;
  const bool in_time = touches_[found].at - touches_[at_].at <= k_faster * worked;
  std::size_t missed = 0;
  for (auto at = at_ + 1; at < found; ++at)
    if (!is_unnoticed(touches_[at].chunk) && (++missed > k_missed || !in_time)) return k_nowhere;
  return found;
}

// Returns whether the chunk was expected among the last k_nearby touches: two touches changed their order.
bool TouchHistory::is_nearby(ChunkId chunk) const {
  const auto known = of_chunk_.find(chunk);
  if (at_ == k_nowhere || known == of_chunk_.end()) return false;
  const auto next = std::ranges::upper_bound(known->second, at_);
  return next != known->second.begin() && at_ - *std::prev(next) < k_nearby;
}

// Returns the probability that a touch of a random chunk counts as expected.
double TouchHistory::chance(const IsUnnoticed& is_unnoticed) const {
  if (at_ == k_nowhere) return 0;
  auto counted = std::min(at_ + 1, k_nearby);
  std::size_t missed = 0;
  const auto most = std::min(of_chunk_.size(), k_max_counted);
  for (auto at = at_ + 1; at < touches_.size() && counted < most; ++at, ++counted)
    if (!is_unnoticed(touches_[at].chunk) && ++missed > k_missed + 1) break;
  return std::min(static_cast<double>(counted) / static_cast<double>(of_chunk_.size()), k_max_chance);
}

// Returns the earlier touch of the same chunk whose preceding touches agree longest with those of the latest one.
TouchHistory::SimilarContext TouchHistory::find_similar_context() const {
  const auto end = touches_.size() - 1;
  const auto& same = of_chunk_.at(touches_[end].chunk);
  SimilarContext best;
  for (std::size_t back = 1; back < same.size() && back <= k_tried; ++back) {
    const auto at = same[same.size() - 1 - back];
    std::size_t alike = 1;
    while (alike <= k_context && alike <= at && touches_[at - alike].chunk == touches_[end - alike].chunk) ++alike;
    if (alike > best.touches) best = {at, alike};
  }
  return best;
}

// Records the unnoticed touches that the thread has done as expected before an unexpected one, as far as the work
// allows. Returns their work.
double TouchHistory::append_unnoticed(double worked, const IsUnnoticed& is_unnoticed) {
  double taken = 0;
  if (at_ == k_nowhere) return taken;
  const auto end = touches_.size();
  for (auto at = at_ + 1; at < end; ++at) {
    const auto touch = touches_[at];
    if (taken + touch.worked >= worked || !is_unnoticed(touch.chunk)) break;
    append(touch.chunk, touch.worked, touch.first);
    taken += touch.worked;
    at_ = at;
  }
  return taken;
}

TouchHistory::Match TouchHistory::add(ChunkId chunk, Seconds worked, const IsUnnoticed& is_unnoticed,
                                      std::vector<ChunkId>& passed) {
  if (touches_.size() >= std::clamp(k_of_chunk * of_chunk_.size(), k_min_length, k_max_length)) forget_half();
  const auto ahead = find_ahead(chunk, since_ + worked.value, is_unnoticed);
  const bool nearby = ahead == k_nowhere && is_nearby(chunk);
  hits_ += k_weight * ((ahead == k_nowhere && !nearby ? 0 : 1) - hits_);
  chance_ += k_weight * (chance(is_unnoticed) - chance_);
  if (ahead == k_nowhere) return add_unexpected(chunk, worked.value, nearby, is_unnoticed);
  // Divides the measured work among the passed touches as recorded.
  const auto before = touches_[ahead].at - touches_[at_].at;
  const auto scale = before > 0 ? worked.value / before : 0;
  double first = 0;
  for (auto at = at_ + 1; at < ahead; ++at) {
    const auto touch = touches_[at];
    passed.push_back(touch.chunk);
    first += touch.first;
    if (!is_unnoticed(touch.chunk)) continue;
    append(touch.chunk, touch.worked * scale, first);
    first = 0;
  }
  append(chunk, before > 0 ? touches_[ahead].worked * scale : worked.value, first + touches_[ahead].first);
  go_to(ahead);
  return Match::expected;
}

TouchHistory::Match TouchHistory::add_unexpected(ChunkId chunk, double worked, bool nearby,
                                                 const IsUnnoticed& is_unnoticed) {
  // A nearby touch adds no recorded work, or the repeated sequence would have more work the next time.
  if (nearby) {
    append(chunk, worked, 0);
    since_ += worked;
    extra_ = 0;
    return Match::nearby;
  }
  const auto taken = append_unnoticed(worked, is_unnoticed);
  const bool on_path = at_ != k_nowhere && extra_ < k_extra;
  append(chunk, worked - taken, 0);
  const auto alike = find_similar_context();
  if (on_path && alike.touches < k_alike) {
    since_ = taken > 0 ? worked - taken : since_ + worked;
    ++extra_;
    return Match::extra;
  }
  const auto first = (taken > 0 ? 0 : since_) + worked - taken;
  touches_.back().first = static_cast<float>(first);
  done_ += first;
  go_to(alike.at);
  return Match::elsewhere;
}

void TouchHistory::go_to(std::size_t at) {
  at_ = at;
  extra_ = 0;
  since_ = 0;
}

std::optional<double> TouchHistory::next_use(ChunkId chunk) const {
  const auto next = next_of(chunk);
  if (next == k_nowhere) return {};
  return touches_[next].at;
}

std::optional<ChunkId> TouchHistory::expected(std::size_t nth) const {
  if (at_ == k_nowhere || at_ + 1 + nth >= touches_.size()) return {};
  return touches_[at_ + 1 + nth].chunk;
}

// Forgets the older half of the history, which has reached its maximum length.
void TouchHistory::forget_half() {
  const auto gone = touches_.size() / 2;
  touches_.erase(touches_.begin(), touches_.begin() + static_cast<std::ptrdiff_t>(gone));
  const auto moved = [&](std::size_t at) { return at == k_nowhere || at < gone ? k_nowhere : at - gone; };
  for (auto& [chunk, all] : of_chunk_) {
    all.erase(all.begin(), std::ranges::lower_bound(all, gone));
    for (auto& at : all) at -= gone;
  }
  std::erase_if(of_chunk_, [](const auto& known) { return known.second.empty(); });
  at_ = moved(at_);
}

}  // namespace terrace::strategy
