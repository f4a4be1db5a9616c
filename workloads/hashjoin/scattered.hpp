// Generates large relations in random order in one pass: a shuffle reaches all over a relation for each tuple, and
// if that is larger than memory it takes longer than any join. The tuples are those of common/relations.cpp,
// whose result is known; only their order is another.
#pragma once

#include <bit>
#include <cstdint>

#include "common/random.hpp"
#include "common/relations.hpp"

namespace hashjoin {

/// From so many tuples on a relation is made in one pass.
constexpr std::uint64_t k_large = std::uint64_t{1} << 23;

/// A number below 2^bits for each such number, one to one, as if at random.
inline std::uint64_t scatter(std::uint64_t x, int bits, std::uint64_t seed) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::uint64_t round = 0; round < 3; ++round) {
    x = (x + workloads::random_at(seed, round)) & mask;
    x = (x * 0x9e3779b97f4a7c15) & mask;
    x ^= x >> (bits + 1) / 2;
  }
  return x;
}

/// The larger relation: items below 2n, each equally often.
inline workloads::Relation scattered_probe_side(const workloads::JoinSettings& settings) {
  workloads::Relation relation(settings.tuples * settings.ratio);
  const std::uint64_t size = relation.size();
  const int bits = static_cast<int>(std::bit_width(size));
  std::uint64_t filled = 0;
  for (std::uint64_t i = 0; filled < size; ++i) {
    const std::uint64_t at = scatter(i, bits, settings.seed + 1);
    if (at >= size) continue;
    const std::uint64_t item = at % (2 * settings.tuples);
    relation[filled++] = {workloads::mix(item + 1), 2 * item + 1};
  }
  return relation;
}

}  // namespace hashjoin
