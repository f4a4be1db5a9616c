// SPDX-License-Identifier: Apache-2.0
// Chooses the basic blocks whose hooks report loops. The assembler wrapper keeps these hooks
// (cli/wrapper/thin_blocks.hpp), and the launcher finds them again in the linked program
// (symbols/files/symbols_code.cpp): both use mark_loops.
//
// A loop that contains another loop or calls a function is reported at each iteration, by the hook of a block that
// every iteration executes. A small loop, which does neither, has little work in an iteration; it is reported when
// it is entered, by the block that leads into it.
#pragma once

#include <span>
#include <vector>

#include "observe/code/loop_forest.hpp"

namespace terrace::observe {

struct FlowBlock {
  std::vector<BlockIndex> targets;  // of its jumps
  bool falls_through = true;        // to the next block
  bool has_indirect_jump = false;   // to an address that the program computes
  bool has_hook = false;            // the basic-block hook; hooks of accesses do not count
  bool calls = false;               // a function that is no hook
};

struct LoopMarks {
  // The edges between the blocks: jumps, fall-through, and from an indirect jump to every block that has no other
  // predecessor.
  ControlFlow flow;
  LoopForest forest;
  // Indexed by block; k_no_block: none.
  std::vector<BlockIndex> iterates;    // the head of the loop whose iterations its hook reports
  std::vector<bool> at_end;            // whether it reports the end of an iteration, not the begin
  std::vector<bool> is_in_small_loop;  // in a loop that neither calls a function nor contains a loop
  std::vector<BlockIndex> enters;      // the head of the loop whose entry its hook reports

  // Returns whether the block's hook reports a loop.
  [[nodiscard]] bool marks(BlockIndex block) const {
    return iterates[block] != k_no_block || enters[block] != k_no_block;
  }
};

// Marks a function's blocks, given in the order of their addresses.
LoopMarks mark_loops(std::span<const FlowBlock> blocks);

}  // namespace terrace::observe
