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

// Bytes a second that memory reads and writes.
struct Rates {
  double read = 0;
  double write = 0;
};
// From STREAM's kernels, "read" and "write", bytes a second as STREAM counts them: what a byte read and a byte
// written back take, so that the four kernels come nearest (least squares of relative errors), neither more than
// alone, since the two directions may overlap. A store of theirs reads its line first. Throws std::out_of_range
// where a kernel is missing.
Rates reads_and_writes(const std::map<std::string, double>& kernels);

}  // namespace terrace::machine
