// SPDX-License-Identifier: Apache-2.0
// Implements the GPU policy "touch" (`terrace lab gpu --policy touch`): promotes chunks after a number of
// accesses, with their neighbours. See touch_policy.hpp.
#include "strategy/tiering/touch_policy.hpp"

#include <algorithm>

#include "strategy/tiering/object_chunks.hpp"

namespace terrace::strategy {

PolicyNeeds TouchPolicy::needs() const {
  PolicyNeeds needs;
  needs.touches = rules_.threshold;
  if (rules_.balanced || rules_.reverses) needs.interval = k_balance_interval;
  return needs;
}

void TouchPolicy::on_touch(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  request_promotion(chunk, tiers, choice);
  // Takes `range` neighbours, half on each side; if one side has fewer, the other side provides more.
  const auto object = object_chunks(*tiers.chunks, chunk, rules_.range);
  const auto below = chunk - object.begin;
  const auto above = object.end - 1 - chunk;
  const auto half = rules_.range / 2;
  const auto left = std::min(below, std::max(half, rules_.range - std::min(above, rules_.range - half)));
  const auto right = std::min(above, rules_.range - left);
  for (auto distance = std::max(left, right); distance != 0; --distance) {
    if (distance <= left) request_promotion(chunk - distance, tiers, choice);
    if (distance <= right) request_promotion(chunk + distance, tiers, choice);
  }
}

void TouchPolicy::request_promotion(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  if (!tiers.is_on(chunk, tiers.slow)) return;
  if (fifo_.is_promoted(chunk)) return;
  const auto size = tiers.size(chunk);
  if (rules_.evicts ? fifo_.evict_until_fits(size, tiers, choice) : fifo_.free_bytes(tiers) >= size.value)
    fifo_.promote(chunk, tiers, choice);
}

void TouchPolicy::decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  if (!served_.add_interval(seen, tiers)) return;
  const auto target = balance_of(tiers);
  const auto served = served_.value();
  if (rules_.reverses && served > target + k_balance_near) {
    choice.mover_share = 1;
    demote_surplus(fifo_, served - target, tiers, choice);
  } else if (rules_.balanced) {
    choice.mover_share = served < target - k_balance_near ? 1 : served <= target ? 0.5 : 0;
  }
}

}  // namespace terrace::strategy
