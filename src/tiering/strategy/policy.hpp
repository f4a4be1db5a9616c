// SPDX-License-Identifier: Apache-2.0
// Defines the interface of tiering policies. A policy decides at run time, interval by interval and chunk by
// chunk, from what a collector observes, without a profile or a plan. It is independent of the clock, memory and
// mover. The main loop of a program in virtual time (tiering/policy_variant.cpp) and the GPU simulator call it.
// Each policy is one file in policies/ (variant.hpp).
//
// Published policies use time constants of seconds for programs that run for minutes. Programs in virtual time run
// for milliseconds. k_time_scale divides what a policy waits for: intervals, thresholds in time, numbers of
// samples. Rates (bytes per second, faults per second) and the cost of a fault are unchanged.
//
// A policy manages two tiers: the fastest place of the program's domain and its home. Places between them stay
// empty.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "observe/observation.hpp"
#include "transfer/mover.hpp"

namespace terrace::strategy {

inline constexpr double k_time_scale = 1000;

// Observations that a policy needs.
struct PolicyNeeds {
  Seconds interval;                 // between two decisions
  std::uint32_t sample_period = 0;  // misses per sample; 0: no samples
  Seconds fault_cost{};             // time of the program that a hint fault takes
  // Accesses to a chunk in slow memory after which on_touch() is called, as access counters of GPUs do; 0: never.
  std::uint32_t touches = 0;
  // Whether each access to a chunk in slow memory faults, and waits for on_fault() and the moves that it requests.
  bool faults = false;
};

// The two tiers that a policy manages.
struct Tiers {
  const memory::ChunkTable* chunks = nullptr;
  DomainId domain = 0;
  PlaceId fast = 0;
  PlaceId slow = 0;
  Bytes capacity;                   // of the fast place, by the budget
  Bytes free;                       // in the fast place
  BytesPerSecond fast_bandwidth{};  // read bandwidth of each, as the program reaches it
  BytesPerSecond slow_bandwidth{};

  // Returns whether the chunk is live, of this domain, and resides in that place.
  [[nodiscard]] bool is_on(ChunkId id, PlaceId place) const {
    const auto& chunk = (*chunks)[id];
    return chunk.live && chunk.domain == domain && chunk.place.load(std::memory_order_relaxed) == place;
  }
  [[nodiscard]] Bytes size(ChunkId id) const { return Bytes{(*chunks)[id].size}; }
};

struct PolicyChoice {
  // Performed in this order. The runtime skips promotions that find no free space by then.
  std::vector<transfer::TransferRequest> moves;
  std::vector<ChunkId> protect;  // their next access takes a hint fault
  // The share of the mover's concurrent transfers to use from now on; none: unchanged.
  std::optional<double> mover_share;
};

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual PolicyNeeds needs() const = 0;
  // Decides at the end of an interval. Requires: the moves of the last decision are done.
  virtual void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) = 0;
  // Called after PolicyNeeds::touches accesses to a chunk in slow memory.
  virtual void on_touch(ChunkId, const Tiers&, PolicyChoice&) {}
  // Called when the program faults on these chunks of slow memory and waits. It continues at once with the chunks
  // that `choice` does not move, and accesses them in slow memory until they have been promoted and demoted again.
  virtual void on_fault(std::span<const ChunkId>, const Tiers&, PolicyChoice&) {}
  // Called if a requested move was rejected, because the target had no free space.
  virtual void on_move_rejected(ChunkId) {}
  // Returns the place to allocate the next chunk in; none: the default placement.
  [[nodiscard]] virtual std::optional<PlaceId> first_place(const Tiers&) { return std::nullopt; }
};

}  // namespace terrace::strategy
