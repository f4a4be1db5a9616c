// Provides a machine with two places for tests of collectors, and a program on it with all kinds of misses.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"
#include "observe/collector.hpp"

namespace terrace::observe {

inline machine::Machine example_machine() {
  machine::MachineParts parts;
  parts.name = "example";
  parts.places = {{"fast", "hbm", {1ull << 30}, {4096}, 0, -1}, {"slow", "ddr", {16ull << 30}, {4096}, 0, -1}};
  parts.paths = {{0, 0, {16e9}, {8e9}, {100e-9}}, {0, 1, {4e9}, {2e9}, {300e-9}}};
  machine::Initiator initiator;
  initiator.name = "core";
  initiator.frequency_hz = 1e9;
  initiator.instruction_time = {1e-9};
  initiator.mlp = 10;
  initiator.prefetch_mlp = 20;
  initiator.caches = {{"l1", {32u << 10}, 8, false, {1e-9}}, {"l2", {1u << 20}, 8, true, {10e-9}}};
  parts.initiators = {initiator};
  parts.domains = {{"node", 0, {}}};
  return machine::Machine(parts);
}

// Chunks that alternate between the two places, and misses on them.
class Program {
 public:
  explicit Program(std::uint32_t count, std::uint32_t seed = 1) : machine(example_machine()), random(seed) {
    for (std::uint32_t i = 0; i < count; ++i) chunks.add(4096ull * i, 65536, 0, 0, static_cast<PlaceId>(i % 2));
  }
  // A quantum with misses of all kinds; chunk i is accessed in proportion to i + 1.
  std::vector<Miss> misses(std::size_t count) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < chunks.size(); ++i) shares.push_back(static_cast<double>(i + 1));
    std::discrete_distribution<std::uint32_t> pick(shares.begin(), shares.end());
    std::vector<Miss> misses;
    for (std::size_t i = 0; i < count; ++i) {
      const auto kind = static_cast<MissKind>(random() % 4);
      const bool waits = kind == MissKind::dependent || kind == MissKind::independent;
      const auto weight = static_cast<std::uint8_t>(waits ? random() % 256 : 0);
      misses.push_back({pick(random), static_cast<std::uint16_t>(random()), weight, kind});
    }
    return misses;
  }

  machine::Machine machine;
  memory::ChunkTable chunks;
  std::mt19937 random;
};

inline void run(Collector& collector, const std::vector<Miss>& misses, std::uint64_t accesses,
                std::array<std::uint64_t, 4> hits = {}) {
  collector.quantum({0, accesses, accesses, hits, misses});
}

}  // namespace terrace::observe
