// SPDX-License-Identifier: Apache-2.0
// Converts between the pages of a simulated GPU and the chunks of a tiering policy: observations one way, moves
// the other. Called by the simulator as a placement. See tiering_policy_adapter.hpp.
#include "gpu_sim/engine/tiering_policy_adapter.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::gpu_sim {
namespace {

// Returns the latency of a read without queueing that finds no open row.
Seconds unloaded_latency(const machine::Gpu& gpu, const machine::GpuMemory& memory) {
  const auto cycles = 2 * (gpu.network_latency + memory.link_latency) + gpu.l2.latency;
  return Seconds{cycles / gpu.hertz + (memory.row_to_column + memory.read_latency) / memory.command_hertz};
}

}  // namespace

TieringPolicyAdapter::TieringPolicyAdapter(const machine::Gpu& gpu, std::unique_ptr<strategy::Policy> policy,
                                           std::uint64_t capacity)
    : gpu_(gpu), policy_(std::move(policy)), needs_(policy_->needs()), capacity_(capacity) {
  for (const auto& memory : gpu_.memories) places_ = std::max<std::uint64_t>(places_, memory.place + 1U);
}

std::vector<std::uint8_t> TieringPolicyAdapter::initial_memories(const Allocation&, std::uint64_t pages) {
  std::vector<std::uint8_t> memories;
  auto seen = tiers();
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto place = policy_->first_place(seen);
    const bool own = place == seen.fast && seen.free.value >= gpu_.page_bytes;
    if (own) seen.free = seen.free - Bytes{gpu_.page_bytes};
    memories.push_back(own ? 0 : 1);
  }
  return memories;
}

void TieringPolicyAdapter::on_pages_added(std::uint32_t first, std::uint32_t count, const PageTable& pages) {
  for (auto i = first; i < first + count; ++i) {
    chunks_.add(pages[i].number * gpu_.page_bytes, static_cast<std::uint32_t>(gpu_.page_bytes),
                pages[i].allocation, 0, gpu_.memories[pages[i].memory].place);
    if (pages[i].memory == 0) used_ += gpu_.page_bytes;
  }
}

void TieringPolicyAdapter::on_touched(std::uint32_t page, const PageTable&, PageMover& mover) {
  strategy::PolicyChoice choice;
  policy_->on_touch(page, tiers(), choice);
  carry_out(choice, mover, true);
}

void TieringPolicyAdapter::on_faults(std::span<const std::uint32_t> pages, Cycle now, PageMover& mover) {
  for (const auto page : pages)
    if (const auto found = protected_at_.find(page); found != protected_at_.end()) {
      seen_.faults.push_back({page, Seconds{static_cast<double>(now - found->second) / gpu_.hertz}});
      protected_at_.erase(found);
    }
  if (!needs_.faults) return;
  strategy::PolicyChoice choice;
  policy_->on_fault(pages, tiers(), choice);
  carry_out(choice, mover);
}

void TieringPolicyAdapter::on_sample(std::uint32_t page, bool write) {
  const auto [at, is_new] = sampled_.try_emplace(page, seen_.samples.size());
  if (is_new) seen_.samples.push_back({page});
  auto& sampled = seen_.samples[at->second];
  ++(write ? sampled.writes : sampled.reads);
}

void TieringPolicyAdapter::on_moved(std::uint32_t page, std::uint8_t memory) {
  auto& chunk = chunks_[page];
  const auto own = gpu_.memories[0].place;
  if (chunk.place.load(std::memory_order_relaxed) == own) used_ -= gpu_.page_bytes;
  if (memory == 0) used_ += gpu_.page_bytes;
  chunks_.put(chunk, gpu_.memories[memory].place);
  protected_at_.erase(page);
}

Cycle TieringPolicyAdapter::interval() const {
  return needs_.interval.value > 0 ? static_cast<Cycle>(std::llround(needs_.interval.value * gpu_.hertz)) : 0;
}

// Returns a memory's load in an interval of this length, as a CPU's counters would state it.
observe::PlaceLoad TieringPolicyAdapter::load_of(std::size_t memory, std::uint64_t bytes, Seconds length) const {
  const auto& of = gpu_.memories[memory];
  observe::PlaceLoad load;
  load.reads = static_cast<double>(bytes) / k_line_bytes;
  load.utilisation = std::min(1.0, static_cast<double>(bytes) / (of.reached_bytes_per_second() * length.value));
  load.latency = observe::loaded_latency(unloaded_latency(gpu_, of),
                                         Seconds{k_line_bytes / of.reached_bytes_per_second()}, load.utilisation);
  return load;
}

void TieringPolicyAdapter::decide(const IntervalEvents& seen, const PageTable&, PageMover& mover) {
  const auto cycles = static_cast<double>(seen.now - std::exchange(looked_at_, seen.now));
  auto looked = std::exchange(seen_, {});
  sampled_.clear();
  looked.length = Seconds{cycles / gpu_.hertz};
  looked.sample_period = std::max(1U, needs_.sample_period);
  looked.places.resize(places_);
  for (std::size_t m = 0; m < seen.bytes.size(); ++m) {
    auto& load = looked.places[gpu_.memories[m].place];
    load = load_of(m, seen.bytes[m], looked.length);
    looked.reads += load.reads;
  }
  const auto slots = cycles * gpu_.processors * gpu_.schedulers;
  looked.stalled = looked.length * (1 - std::min(1.0, static_cast<double>(seen.instructions) / slots));
  looked.touched = seen.walked;
  strategy::PolicyChoice choice;
  policy_->decide(looked, tiers(), choice);
  carry_out(choice, mover);
  for (const auto page : choice.protect) protected_at_[page] = seen.now;
  mover.protect(choice.protect);
}

strategy::Tiers TieringPolicyAdapter::tiers() const {
  strategy::Tiers tiers;
  tiers.chunks = &chunks_;
  tiers.fast = gpu_.memories[0].place;
  tiers.slow = gpu_.memories[1].place;
  tiers.capacity = Bytes{capacity_};
  tiers.free = Bytes{capacity_ - std::min(capacity_, used_)};
  tiers.fast_bandwidth = BytesPerSecond{gpu_.memories[0].reached_bytes_per_second()};
  tiers.slow_bandwidth = BytesPerSecond{gpu_.memories[1].reached_bytes_per_second()};
  return tiers;
}

// Requests the policy's moves; those by touches begin after the driver's notice.
void TieringPolicyAdapter::carry_out(const strategy::PolicyChoice& choice, PageMover& mover, bool by_touch) {
  if (choice.mover_share)
    mover.set_max_concurrent(static_cast<std::uint32_t>(std::lround(*choice.mover_share * gpu_.page_copies)));
  for (const auto& move : choice.moves) {
    const std::uint8_t memory = move.to == gpu_.memories[0].place ? 0 : 1;
    by_touch ? mover.request_move_on_touch(move.chunk, memory) : mover.request_move(move.chunk, memory);
  }
}

}  // namespace terrace::gpu_sim
