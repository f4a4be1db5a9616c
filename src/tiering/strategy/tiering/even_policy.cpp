// SPDX-License-Identifier: Apache-2.0
// Implements the GPU policies "even" and "even-moves" (`terrace lab gpu --policy`): balances the traffic of both
// memories by placing or promoting chunks. See even_policy.hpp.
#include "strategy/tiering/even_policy.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "strategy/tiering/bandwidth_balance.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint64_t k_line = 128;
constexpr std::uint64_t k_min = 4;  // bounds of the promotions in flight
constexpr std::uint64_t k_max = 4096;

}  // namespace

PolicyNeeds EvenPolicy::needs() const {
  PolicyNeeds needs;
  needs.touches = 1;
  needs.interval = k_balance_interval;
  return needs;
}

std::optional<PlaceId> EvenPolicy::first_place(const Tiers& tiers) {
  if (start_ == EvenStart::slow) return std::nullopt;
  due_ += balance_of(tiers);
  if (due_ < 1) return tiers.slow;
  due_ -= 1;
  return tiers.fast;
}

// Returns the state of the chunk's object, new at its first access.
EvenPolicy::InUse& EvenPolicy::find(ChunkId chunk, const Tiers& tiers) {
  const auto& chunks = *tiers.chunks;
  const auto object = chunks[chunk].object;
  const auto [found, is_new] = objects_.try_emplace(object);
  auto& use = found->second;
  if (is_new) use.left = use.all = object_chunks(chunks, chunk);
  return use;
}

// Called by the tiering simulation at each access: counts the touch of the chunk and of its object.
void EvenPolicy::on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice&) {
  auto& use = find(chunk, tiers);
  ++use.touches;
  use.accessed = chunk;
  if (chunk >= touches_.size()) touches_.resize(tiers.chunks->size());
  ++touches_[chunk];
}

void EvenPolicy::decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  if (served_.add_interval(seen, tiers)) {
    const auto target = balance_of(tiers);
    const auto surplus = served_.value() - target;
    const bool fast_is_busier = seen.places[tiers.fast].utilisation > seen.places[tiers.slow].utilisation;
    if (surplus < -k_balance_near && !fast_is_busier) promote(tiers, choice);
    if (surplus > k_balance_near && fast_is_busier) demote_surplus(fifo_, surplus, tiers, choice);
  }
  for (auto& [object, use] : objects_) use.touches = 0;
}

// Returns whether promoting the chunk pays: it was not accessed yet, or so often that it is used repeatedly.
bool EvenPolicy::pays(ChunkId chunk, const Tiers& tiers) const {
  if (!tiers.is_on(chunk, tiers.slow) || fifo_.is_promoted(chunk)) return false;
  const auto touches = chunk < touches_.size() ? touches_[chunk] : 0;
  return touches == 0 || touches >= 2 * tiers.size(chunk).value / k_line;
}

// Doubles the promotions in flight if the last ones are done, else halves them.
void EvenPolicy::promote(const Tiers& tiers, PolicyChoice& choice) {
  const auto waiting = fifo_.num_in_flight(tiers);
  asked_ = std::clamp(waiting == 0 ? asked_ * 2 : asked_ / 2, k_min, k_max);
  if (waiting >= asked_) return;
  std::uint64_t touches = 0;
  for (const auto& [object, use] : objects_) touches += use.touches;
  // Divides them among the objects in proportion to their accesses.
  for (auto& [object, use] : objects_)
    if (use.touches != 0) promote_from(use, (asked_ - waiting) * use.touches / touches + 1, tiers, choice);
}

// Promotes up to `count` chunks of the object, those farthest from its last access first.
void EvenPolicy::promote_from(InUse& use, std::uint64_t count, const Tiers& tiers, PolicyChoice& choice) {
  auto& [begin, end] = use.left;
  if (begin == end) use.left = use.all;
  while (count > 0 && begin < end) {
    const auto below = use.accessed > begin ? use.accessed - begin : 0;
    const auto above = end > use.accessed ? end - use.accessed : 0;
    const auto chunk = above > below ? --end : begin++;
    if (!pays(chunk, tiers)) continue;
    if (fifo_.free_bytes(tiers) < tiers.size(chunk).value) return;
    fifo_.promote(chunk, tiers, choice);
    --count;
  }
}

}  // namespace terrace::strategy
