// See touch_policy.hpp.
#include "strategy/tiering/touch_policy.hpp"

#include <algorithm>
#include <cmath>

#include "strategy/tiering/bandwidth_balance.hpp"

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
  const auto& chunks = *tiers.chunks;
  const auto object = chunks[chunk].object;
  std::uint32_t below = 0;
  while (below < rules_.range && below < chunk && chunks[chunk - below - 1].object == object) ++below;
  std::uint32_t above = 0;
  while (above < rules_.range && chunk + above + 1 < chunks.size() && chunks[chunk + above + 1].object == object)
    ++above;
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
  const auto fast = seen.places[tiers.fast].reads;
  const auto all = fast + seen.places[tiers.slow].reads;
  if (all <= 0) return;
  const auto share = fast / all;
  average_ = average_ < 0 ? share : (average_ + share) / 2;
  const auto target = balance_of(tiers);
  if (rules_.reverses && average_ > target + k_balance_near) {
    send_back(average_ - target, tiers, choice);
    return;
  }
  if (rules_.balanced) choice.mover_share = average_ < target - k_balance_near ? 1 : average_ <= target ? 0.5 : 0;
}

// Of what was brought: a share of the traffic is taken for the same share of it.
void TouchPolicy::send_back(double surplus, const Tiers& tiers, PolicyChoice& choice) {
  auto count = std::ceil(surplus * static_cast<double>(arrivals_.brought()) / 16);
  choice.mover_share = 1;
  for (; count > 0; --count) {
    const auto oldest = arrivals_.take_oldest(tiers);
    if (!oldest) return;
    arrivals_.send_back(*oldest, tiers, choice);
  }
}

}  // namespace terrace::strategy
