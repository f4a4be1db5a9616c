// Runs random programs with random transfers, for property tests: the same seed makes the same calls.
#pragma once

#include <random>
#include <vector>

#include "world.hpp"

namespace terrace::sim {

class RandomRun {
 public:
  struct ObservedQuantum {  // a quantum as the test has observed it
    std::vector<observe::Miss> misses;
    std::uint64_t accesses = 0, instructions = 0;
    std::array<std::uint64_t, observe::k_max_cache_levels> hits{};
    std::vector<PlaceId> before, after;  // by chunk: where it lay
  };

  RandomRun(std::uint32_t seed, TestWorld& world, std::uint32_t chunks) : random_(seed), world_(world) {
    for (std::uint32_t i = 0; i < chunks; ++i) {
      const auto size = static_cast<std::uint32_t>((1 + pick(32)) * 4096);
      auto place = static_cast<PlaceId>(pick(static_cast<std::uint32_t>(world.machine.places().size())));
      while (world.ledger.available(place) < Bytes{size})
        place = static_cast<PlaceId>((place + 1u) % world.machine.places().size());
      world.add_chunks(1, size, place);
    }
  }

  // Runs one quantum, transfer or charge. Quanta are remembered.
  void step() {
    auto& machine = world_.virtual_machine;
    const auto dice = pick(100);
    if (dice < 30) {
      tickets_.push_back(machine.submit({any_chunk(), any_place()}));
    } else if (dice < 36 && !tickets_.empty()) {
      machine.wait(tickets_[pick(static_cast<std::uint32_t>(tickets_.size()))]);
    } else if (dice < 40) {
      machine.charge({1e-7 * pick(100)});
    } else {
      run_quantum();
    }
  }
  void finish() {
    for (const auto ticket : tickets_) world_.virtual_machine.wait(ticket);
  }
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  ChunkId any_chunk() { return pick(static_cast<std::uint32_t>(world_.chunks.size())); }
  PlaceId any_place() {
    return static_cast<PlaceId>(pick(static_cast<std::uint32_t>(world_.machine.places().size())));
  }
  [[nodiscard]] std::vector<PlaceId> places() const {
    std::vector<PlaceId> places;
    for (ChunkId i = 0; i < world_.chunks.size(); ++i) places.push_back(world_.chunks[i].place);
    return places;
  }

  std::vector<ObservedQuantum> quanta;

 private:
  void run_quantum() {
    ObservedQuantum seen;
    const auto count = pick(2000);
    // A few chunks of a few kinds, in contiguous ranges, as programs have them.
    using observe::MissKind;
    while (seen.misses.size() < count) {
      const auto chunk = any_chunk();
      const auto kind = static_cast<MissKind>(pick(4));
      const bool waits = kind == MissKind::dependent || kind == MissKind::independent;
      for (auto n = 1 + pick(200); n > 0; --n) {
        const auto weight = static_cast<std::uint8_t>(waits ? pick(256) : 0);
        seen.misses.push_back({chunk, static_cast<std::uint16_t>(n), weight, kind});
      }
    }
    seen.accesses = seen.misses.size() + pick(20000);
    seen.instructions = pick(60000);
    seen.hits = {seen.accesses / 2, seen.accesses / 5, seen.accesses / 20, 0};
    seen.before = places();
    world_.virtual_machine.quantum({0, seen.accesses, seen.instructions, seen.hits, seen.misses});
    seen.after = places();
    quanta.push_back(std::move(seen));
  }

  std::mt19937 random_;
  TestWorld& world_;
  std::vector<transfer::Ticket> tickets_;
};

}  // namespace terrace::sim
