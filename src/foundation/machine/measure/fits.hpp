// SPDX-License-Identifier: Apache-2.0
// Derives properties of a machine from measured series, for `terrace machine measure`. Pure functions, without a
// clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace terrace::machine {

// Cost of page walks in concurrent pointer chases over this many pages.
struct PagesCost {
  std::uint32_t pages = 0;
  double seconds = 0;  // per hop, beyond a chase over as many contiguous lines
};
// Estimates the number of entries of a TLB and the cost of a page walk. Both are 0 if the costs show no step of at
// least `min_step`. With four times as many pages as entries nearly every access misses, whatever the replacement
// policy: the entries are the largest number for which four times as many pages add about as much as any number
// does. The cost of a walk is what twice as many pages add: around a cycle of these an LRU TLB never hits.
struct TlbReach {
  std::uint32_t entries = 0;
  double walk = 0;  // seconds
};
TlbReach tlb_reach(std::span<const PagesCost> costs, double min_step);

// Cost of a miss beyond a hit, by the distance between misses.
struct MissDistanceCost {
  double distance = 0;  // accesses from one miss to the next
  double seconds = 0;
};
// Returns the distance from which on misses do not overlap: where a miss costs three quarters of its cost alone,
// half-way between two at a time and one. The cost alone is the value that a quarter of the distances reach, so
// that a few disturbed ones do not matter; hence at least a quarter of the distances must be beyond the overlap.
// Returns 0 if no distance costs anything.
std::uint32_t min_miss_distance(std::span<const MissDistanceCost> costs);

// Cost of a line if this many streams are read interleaved.
struct StreamsCost {
  std::uint32_t streams = 0;
  double seconds = 0;
};
// Returns how many streams the prefetchers follow: the largest number for which the cost of a line is nearer to
// the minimum than to the maximum, by ratio. Returns 0 if no line costs twice the minimum.
std::uint32_t streams_followed(std::span<const StreamsCost> costs);

// Bytes per second that memory reads and writes.
struct Rates {
  double read = 0;
  double write = 0;
};
// Fits read and write rates to STREAM's four kernels, "read" and "write", by least squares of relative errors;
// "write" has a quarter of the weight. `kernels` has bytes per second as STREAM counts them; each store of the
// four first reads its line. If the two directions overlap, a rate exceeds what it is alone. The four kernels
// alone do not determine the rates: they have two or three reads to a write, so an error of 5 % lets a write take
// no time or all of it. The rates are not positive if the kernels contradict each other. Throws std::out_of_range
// if a kernel is missing.
Rates reads_and_writes(const std::map<std::string, double>& kernels);

}  // namespace terrace::machine
