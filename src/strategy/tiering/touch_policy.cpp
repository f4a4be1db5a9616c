// See touch_policy.hpp.
#include "strategy/tiering/touch_policy.hpp"

#include <algorithm>

namespace terrace::strategy {
namespace {

constexpr double k_near = 0.05;

}  // namespace

PolicyNeeds TouchPolicy::needs() const {
  PolicyNeeds needs;
  needs.touches = rules_.threshold;
  if (rules_.balanced) needs.interval = k_balance_interval;
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
  if (chunk >= asked_.size()) asked_.resize(tiers.chunks->size());
  if (asked_[chunk]) return;
  asked_[chunk] = true;
  choice.moves.push_back({chunk, tiers.fast});
}

void TouchPolicy::decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) {
  const auto fast = seen.places[tiers.fast].reads;
  const auto all = fast + seen.places[tiers.slow].reads;
  if (!rules_.balanced || all <= 0) return;
  const auto share = fast / all;
  average_ = average_ < 0 ? share : (average_ + share) / 2;
  const auto target = tiers.fast_bandwidth.value / (tiers.fast_bandwidth.value + tiers.slow_bandwidth.value);
  choice.mover_share = average_ < target - k_near ? 1 : average_ <= target ? 0.5 : 0;
}

}  // namespace terrace::strategy
