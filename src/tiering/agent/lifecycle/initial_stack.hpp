// What the system puts on the stack before a program runs: the vectors of arguments and of environment variables,
// and their strings, close together. How long the environment is decides where in a cache line, in a page, each of
// them begins; so here each gets a place of its own that depends on nothing else, for its canonical address.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::agent {

struct StackPiece {
  std::uint64_t low = 0, high = 0;
  std::uint64_t place = 0;  // offset from a canonical base; a multiple of 64
};

// How far apart the places are at least, and room for them all.
inline constexpr std::uint64_t k_stack_slot = std::uint64_t{1} << 18;
inline constexpr std::uint64_t k_stack_slots = std::uint64_t{1} << 24;

// The pieces of a stack whose argument vector has `count` entries at `words`, the environment's following it. The
// vectors have a slot each, the arguments' strings follow each other in a slot, each from a line's beginning;
// every variable has the slot that its name decides. Slot 0 is free. Where two names decide for one slot, and
// where a slot has no room for what follows, the rest is left out.
std::vector<StackPiece> lay_out_stack(int count, const char* const* words);

}  // namespace terrace::agent
