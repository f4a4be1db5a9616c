// SPDX-License-Identifier: Apache-2.0
// Takes the parameters of a fast and a slow memory from a machine file, and prices copies and mappings of chunks.
// Called by VirtualRun when it creates a mode.
#include "stencil/virtual/two_tier_machine.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "stencil/execute/tile_size.hpp"

namespace terrace::stencil {
namespace {

// Seconds for a GPU driver to remap a chunk, whatever its size. An assumption without a source: no machine file
// has it.
constexpr double k_map = 50e-6;

double bandwidth_of(const machine::Path& path) { return std::min(path.read.value, path.write.value); }

// Sets what a machine without a GPU has. Copier threads (which copy data between the memories) have cores of their
// own if there is more than one core; the other cores run loops. The same threads copy in both directions.
void add_cores(const machine::Machine& machine, PlaceId fast, PlaceId slow, TwoTierMachine& tiers) {
  const auto& cores = machine.initiators().front();
  tiers.cores = cores.cores;
  tiers.copier = machine.copier();
  tiers.copier.threads = std::min(tiers.copier.threads, std::max(cores.cores / 2, 1U));
  tiers.threads = std::max(cores.cores - tiers.copier.threads, 1U);
  tiers.beside_copies = 1 - static_cast<double>(tiers.copier.threads) / std::max(cores.cores, 2U);
  tiers.in_bandwidth = copy_rate(machine, tiers.copier, tiers.copier.threads, 0, slow, fast).value;
  tiers.out_bandwidth = copy_rate(machine, tiers.copier, tiers.copier.threads, 0, fast, slow).value;
  tiers.cache = k_default_cache;
  for (const auto& cache : cores.caches)
    if (!cache.shared) tiers.cache = cache.size.value;
}

// Sets what a machine with a GPU has: costs of launches, copies and faults, and the link's bandwidth.
void add_gpu(const machine::Gpu& gpu, PlaceId slow, TwoTierMachine& tiers) {
  tiers.is_gpu = true;
  tiers.launch = gpu.launch_cycles / gpu.hertz;
  tiers.call = gpu.notice / gpu.hertz;
  tiers.map = k_map;
  tiers.fault = gpu.fault / gpu.hertz;
  tiers.fault_bytes = static_cast<double>(gpu.fault_batch) * static_cast<double>(gpu.page_bytes);
  for (const auto& memory : gpu.memories)
    if (memory.place == slow && memory.link_bytes_per_second > 0)
      tiers.slow_read = tiers.slow_write = memory.bytes_per_second;
}

Bytes bytes_of(double number) { return Bytes{static_cast<std::uint64_t>(number)}; }

}  // namespace

CopyPrice TwoTierMachine::copy_price(double bytes) const {
  if (is_gpu) return {call, 0};
  return {remapping_time(copier, bytes_of(bytes)).value, stall_time(copier, bytes_of(bytes)).value};
}

CopyPrice TwoTierMachine::map_price(double bytes) const { return is_gpu ? CopyPrice{map, 0} : copy_price(bytes); }

void SlowMemoryBudget::reserve(double bytes) {
  taken_ += bytes;
  if (taken_ > bytes_)
    throw Error(Code::invalid, "the datasets do not fit into " + name_ + ", which has a capacity of " +
                                   format(bytes_of(bytes_)) + ": set slow_memory=SIZE to simulate a larger one");
}

TwoTierMachine two_tier_machine(const machine::Machine& machine, const TwoTierOptions& options) {
  std::vector<std::pair<double, PlaceId>> by_speed;
  for (PlaceId place = 0; place < machine.places().size(); ++place)
    by_speed.emplace_back(bandwidth_of(machine.path(0, place)), place);
  if (by_speed.size() < 2)
    throw Error(Code::invalid, "the machine " + machine.name() +
                                   " has only one memory: set machine=FILE to a machine with two memories");
  std::ranges::stable_sort(by_speed, std::greater{}, &std::pair<double, PlaceId>::first);
  const auto fast = by_speed[0].second, slow = by_speed[1].second;
  TwoTierMachine tiers;
  tiers.fast_name = machine.places()[fast].name;
  tiers.slow_name = machine.places()[slow].name;
  tiers.fast_bytes =
      static_cast<double>((options.memory.value > 0 ? options.memory : machine.places()[fast].capacity).value);
  tiers.slow_bytes = static_cast<double>(
      (options.slow_memory.value > 0 ? options.slow_memory : machine.places()[slow].capacity).value);
  tiers.fast_bandwidth = by_speed[0].first;
  tiers.slow_bandwidth = by_speed[1].first;
  tiers.loop_bandwidth = options.loop_bandwidth > 0 ? options.loop_bandwidth : tiers.fast_bandwidth;
  tiers.in_bandwidth = machine.copy_bandwidth(slow, fast).value;
  tiers.out_bandwidth = machine.copy_bandwidth(fast, slow).value;
  tiers.slow_read = machine.path(0, slow).read.value;
  tiers.slow_write = machine.path(0, slow).write.value;
  if (machine.parts().gpus.empty())
    add_cores(machine, fast, slow, tiers);
  else
    add_gpu(machine.parts().gpus.front(), slow, tiers);
  return tiers;
}

}  // namespace terrace::stencil
