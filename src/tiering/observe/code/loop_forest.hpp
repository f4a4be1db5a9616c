// SPDX-License-Identifier: Apache-2.0
// Finds the loops of a function in its control-flow graph: which basic blocks are loop headers ("heads"), and
// which loop each block belongs to. After Wei, Mao, Zou and Chen, "A New Algorithm for Identifying Loops in
// Decompilation", SAS 2007: one depth-first walk, irreducible loops included (their head is the block by which the
// walk enters them). Used by loop_marks.hpp.
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::observe {

using BlockIndex = std::uint32_t;
inline constexpr BlockIndex k_no_block = ~BlockIndex{0};

struct ControlFlow {
  std::vector<std::vector<BlockIndex>> successors;  // by block; the function is entered at block 0
  // Further blocks that may be entered from elsewhere: possible targets of indirect jumps, exception handlers.
  std::vector<BlockIndex> entries;
};

struct LoopForest {
  // Indexed by block: the head of the innermost loop around it; for a head, of the parent of its own loop.
  // k_no_block: none.
  std::vector<BlockIndex> around;
  std::vector<bool> is_head;

  // Returns the head of the innermost loop that the block is in, its own where it is a head; k_no_block: none.
  [[nodiscard]] BlockIndex loop_of(BlockIndex block) const { return is_head[block] ? block : around[block]; }
  // Returns whether the block is in the loop with that head, at whatever depth.
  [[nodiscard]] bool contains(BlockIndex head, BlockIndex block) const;
};

LoopForest find_loops(const ControlFlow& flow);

// Returns whether each way within the loop from its head back to it passes the block, which is in the loop.
bool is_on_every_cycle(const ControlFlow& flow, const LoopForest& forest, BlockIndex head, BlockIndex block);

// Joins two loops that are one in the source. A compiler that can predict a test at a loop's beginning ("print
// every 20 steps") lets the loop jump past it; what the test guards then becomes the head of an outer loop. Such
// an outer loop decides nothing: only the inner loop exits it, and each of its cycles passes the inner loop's
// head. That head then stands for both.
void join_split_loops(const ControlFlow& flow, LoopForest& forest);

}  // namespace terrace::observe
