// Policies of strategy/ on the GPU. See policy_decider.hpp.
#include "sim/gpu/engine/policy_decider.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace terrace::sim::gpu {

PolicyDecider::PolicyDecider(const machine::Gpu& gpu, std::unique_ptr<strategy::Policy> policy,
                             std::uint64_t capacity)
    : gpu_(gpu), policy_(std::move(policy)), needs_(policy_->needs()), capacity_(capacity) {
  if (needs_.sample_period != 0 || needs_.fault_cost.value > 0)
    throw Error(Code::unsupported,
                "this policy needs samples of misses or hint faults, which GPUs in virtual time do "
                "not give; take one that goes by touches");
  for (const auto& memory : gpu_.memories) places_ = std::max<std::uint64_t>(places_, memory.place + 1U);
}

void PolicyDecider::added(std::uint32_t first, std::uint32_t count, const PageTable& pages) {
  for (auto i = first; i < first + count; ++i)
    chunks_.add(pages[i].number * gpu_.page_bytes, static_cast<std::uint32_t>(gpu_.page_bytes),
                pages[i].allocation, 0, gpu_.memories[pages[i].memory].place);
}

void PolicyDecider::touched(std::uint32_t page, const PageTable& pages, PageMover& mover) {
  strategy::PolicyChoice choice;
  policy_->touched(page, tiers(pages), choice);
  carry_out(choice, mover);
}

void PolicyDecider::moved(std::uint32_t page, std::uint8_t memory) {
  chunks_.put(chunks_[page], gpu_.memories[memory].place);
}

Cycle PolicyDecider::interval() const {
  return needs_.interval.value > 0 ? static_cast<Cycle>(std::llround(needs_.interval.value * gpu_.hertz)) : 0;
}

void PolicyDecider::decide(std::span<const std::uint64_t> bytes, const PageTable& pages, PageMover& mover) {
  observe::Observation seen;
  seen.length = needs_.interval;
  seen.places.resize(places_);
  for (std::size_t m = 0; m < bytes.size(); ++m) {
    const auto& memory = gpu_.memories[m];
    auto& load = seen.places[memory.place];
    load.reads = static_cast<double>(bytes[m]) / k_line_bytes;
    load.utilisation =
        std::min(1.0, static_cast<double>(bytes[m]) / (memory.reached_bytes_per_second() * seen.length.value));
    seen.reads += load.reads;
  }
  strategy::PolicyChoice choice;
  policy_->decide(seen, tiers(pages), choice);
  carry_out(choice, mover);
}

strategy::Tiers PolicyDecider::tiers(const PageTable& pages) const {
  strategy::Tiers tiers;
  tiers.chunks = &chunks_;
  tiers.fast = gpu_.memories[0].place;
  tiers.slow = gpu_.memories[1].place;
  tiers.capacity = Bytes{capacity_};
  tiers.free = Bytes{capacity_ - std::min(capacity_, pages.used_bytes(0))};
  tiers.fast_bandwidth = BytesPerSecond{gpu_.memories[0].reached_bytes_per_second()};
  tiers.slow_bandwidth = BytesPerSecond{gpu_.memories[1].reached_bytes_per_second()};
  return tiers;
}

void PolicyDecider::carry_out(const strategy::PolicyChoice& choice, PageMover& mover) {
  for (const auto& move : choice.moves) mover.ask(move.chunk, move.to == gpu_.memories[0].place ? 0 : 1);
  if (choice.mover_share)
    mover.limit(static_cast<std::uint32_t>(std::lround(*choice.mover_share * gpu_.page_copies)));
}

}  // namespace terrace::sim::gpu
