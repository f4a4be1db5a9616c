// SPDX-License-Identifier: Apache-2.0
// Assigns canonical addresses to what the kernel puts on the stack at exec: the vectors of arguments and
// environment variables, and their strings. Their real offsets in cache lines and pages depend on the length of
// the environment. Here the position of each piece depends on that piece alone, so that virtual time is
// reproducible. Called once, at start-up.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::agent {

struct StackPiece {
  std::uint64_t low = 0, high = 0;
  std::uint64_t place = 0;  // offset from the canonical base; a multiple of 64
};

// Size of a slot, and of the space for all slots.
inline constexpr std::uint64_t k_stack_slot = std::uint64_t{1} << 18;
inline constexpr std::uint64_t k_stack_slots = std::uint64_t{1} << 24;

// Returns the pieces of a stack whose argument vector has `count` entries at `words`, followed by the
// environment. Each vector has a slot. Argument strings share a slot, aligned to cache lines. The slot of a
// variable is a hash of its name. Slot 0 stays free. Pieces that collide with another or overflow their slot are
// omitted.
std::vector<StackPiece> lay_out_stack(int count, const char* const* words);

}  // namespace terrace::agent
