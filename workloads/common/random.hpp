// Draws random numbers in any order, so that a workload's threads draw what one thread would have drawn.
// Source: the finaliser of SplitMix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014.
#pragma once

#include <cstdint>

namespace workloads {

/// Mixes 64 bits one to one: distinct numbers stay distinct.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// The number `index` of the sequence that begins at `seed`.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t index) {
  return mix(seed + (index + 1) * 0x9e3779b97f4a7c15);
}

/// 64 random bits as an index below `end`, which is at most 2^32.
constexpr std::uint64_t below(std::uint64_t bits, std::uint64_t end) { return ((bits >> 32) * end) >> 32; }

/// 64 random bits as a fraction in [0, 1).
constexpr double fraction(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace workloads
