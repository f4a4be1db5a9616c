// What measured series say about a machine: numbers from numbers, without a clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace terrace::machine {

// What a page walk adds to a hop, by the number of pages that chases side by side go through.
struct PagesCost {
  std::uint32_t pages = 0;
  double seconds = 0;  // beyond what the same number of lines costs side by side
};
// How many pages a TLB holds, and what a walk costs; both 0 where the costs show no step of `least` or more. Of
// four times the pages that it holds it finds hardly any, whatever it replaces: the pages are the most from which
// on these add about as much as anywhere. A walk is what twice the pages add: around a cycle of so many, a TLB
// that replaces what was used least recently finds none.
struct TlbReach {
  std::uint32_t entries = 0;
  double walk = 0;  // seconds
};
TlbReach tlb_reach(std::span<const PagesCost> costs, double least);

// What a miss costs beyond a hit when misses are so far apart.
struct ApartCost {
  double apart = 0;  // accesses from one miss to the next
  double seconds = 0;
};
// The distance from which on misses do not overlap: there one costs three quarters of what it does alone, half-way
// between two at a time and one. Alone is what a quarter of the distances reach, so that a few disturbed ones do
// not matter: the farthest distances must be that many. 0 where none costs anything.
std::uint32_t min_apart(std::span<const ApartCost> costs);

// What a line costs of so many streams that are read by turns.
struct StreamsCost {
  std::uint32_t streams = 0;
  double seconds = 0;
};
// How many streams the prefetchers follow: the most of which a line costs nearer to the least than to the most, by
// their ratios. 0 where no line costs twice the least.
std::uint32_t streams_followed(std::span<const StreamsCost> costs);

// Bytes a second that memory reads and writes.
struct Rates {
  double read = 0;
  double write = 0;
};
// Returns the rates with which STREAM's four kernels, "read" and "write" come nearest (least squares of relative
// errors; "write" counts a quarter). `kernels` has bytes a second as STREAM counts them; a store of the four reads
// its line first. Where the two directions overlap, a rate is above what it is alone. The four kernels alone do
// not determine the rates: they have two or three reads to a write, so that errors of 5 % let a write take nothing
// or all of its time. Rates are not positive where the kernels contradict one another. Throws std::out_of_range
// where a kernel is missing.
Rates reads_and_writes(const std::map<std::string, double>& kernels);

}  // namespace terrace::machine
