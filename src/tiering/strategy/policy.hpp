// A policy: decides chunk by chunk while the program runs, interval by interval, from what a collector sees,
// without a profile and without a plan. It does not know whose clock, memory or mover it works with. Each is a
// file of its own in policies/ (variant.hpp).
//
// Published policies count in seconds on programs that run for minutes; programs in virtual time run for
// milliseconds. k_time_scale divides what a policy waits for: intervals, thresholds in time, numbers of samples.
// Rates (bytes a second, faults a second) stay, and so does the cost of a fault.
//
// Two kinds take part: the fastest place of the program's domain and its home. What is between stays empty.
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

// What it wants to be told, and when.
struct PolicyNeeds {
  Seconds interval;                 // between two decisions
  std::uint32_t sample_period = 0;  // misses for one sample; 0: it wants none
  Seconds fault_cost{};             // what a hint fault takes of the program's time
  // Accesses to a chunk in slow memory after which the policy is told of it (`touched`), as access counters of
  // GPUs do; 0: never.
  std::uint32_t touches = 0;
  // The program faults where it accesses a chunk in slow memory, and waits for what the policy does (`faulted`):
  // first touch by fault.
  bool faults = false;
};

// The memory that it decides about.
struct Tiers {
  const memory::ChunkTable* chunks = nullptr;
  DomainId domain = 0;
  PlaceId fast = 0;
  PlaceId slow = 0;
  Bytes capacity;                   // of the fast place, by the budget
  Bytes free;                       // of that
  BytesPerSecond fast_bandwidth{};  // what the program can read of each
  BytesPerSecond slow_bandwidth{};

  // Whether the policy may move the chunk, and it is on that tier.
  [[nodiscard]] bool is_on(ChunkId id, PlaceId place) const {
    const auto& chunk = (*chunks)[id];
    return chunk.live && chunk.domain == domain && chunk.place.load(std::memory_order_relaxed) == place;
  }
  [[nodiscard]] Bytes size(ChunkId id) const { return Bytes{(*chunks)[id].size}; }
};

struct PolicyChoice {
  // In this order; one into the fast place for which there is no room by then is left out by the runtime.
  std::vector<transfer::TransferRequest> moves;
  std::vector<ChunkId> protect;  // their next access shall fault
  // The share of what the mover can do at once that it may, from now on; none: as before.
  std::optional<double> mover_share;
};

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual PolicyNeeds needs() const = 0;
  // An interval is over, and what was asked for last time is done.
  virtual void decide(const observe::Observation& seen, const Tiers& tiers, PolicyChoice& choice) = 0;
  // So many accesses to a chunk in slow memory as it needs to hear of (PolicyNeeds::touches).
  virtual void on_touch(ChunkId, const Tiers&, PolicyChoice&) {}
  // The program waits for these chunks of slow memory. It goes on with those that are not asked to move where they
  // are, until they have moved and come back.
  virtual void on_fault(std::span<const ChunkId>, const Tiers&, PolicyChoice&) {}
  // It was asked to move, and does not: there was no room.
  virtual void on_move_rejected(ChunkId) {}
  // Where the next chunk is made; none: where it is made without a policy.
  [[nodiscard]] virtual std::optional<PlaceId> first_place(const Tiers&) { return std::nullopt; }
};

}  // namespace terrace::strategy
