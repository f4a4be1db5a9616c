// See touch_policy.hpp.
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

void TouchPolicy::touched(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  ask(chunk, tiers, choice);
  // `range` neighbours, as many on each side as there are; what one side lacks the other has.
  const auto object = object_chunks(*tiers.chunks, chunk, rules_.range);
  const auto below = chunk - object.begin;
  const auto above = object.end - 1 - chunk;
  const auto half = rules_.range / 2;
  const auto left = std::min(below, std::max(half, rules_.range - std::min(above, rules_.range - half)));
  const auto right = std::min(above, rules_.range - left);
  for (auto distance = std::max(left, right); distance != 0; --distance) {
    if (distance <= left) ask(chunk - distance, tiers, choice);
    if (distance <= right) ask(chunk + distance, tiers, choice);
  }
}

void TouchPolicy::ask(ChunkId chunk, const Tiers& tiers, PolicyChoice& choice) {
  if (!tiers.on(chunk, tiers.slow)) return;
  if (arrivals_.is_here_or_coming(chunk)) return;
  const auto size = tiers.size(chunk);
  if (rules_.evicts ? arrivals_.make_room(size, tiers, choice) : arrivals_.room(tiers) >= size.value)
    arrivals_.bring(chunk, tiers, choice);
}

void TouchPolicy::decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  if (!served_.look(seen, tiers)) return;
  const auto target = balance_of(tiers);
  const auto served = served_.value();
  if (rules_.reverses && served > target + k_balance_near) {
    choice.mover_share = 1;
    send_surplus_back(arrivals_, served - target, tiers, choice);
  } else if (rules_.balanced) {
    choice.mover_share = served < target - k_balance_near ? 1 : served <= target ? 0.5 : 0;
  }
}

}  // namespace terrace::strategy
