// Which basic blocks' hooks tell of loops. The assembler keeps these hooks (cli/wrapper/thin_blocks.hpp), and the
// launcher finds them again in the finished program (symbols/files/symbols_code.cpp): both ask here.
//
// A loop that holds another loop or calls a function is told of each time round, by the hook of a block that every
// turn executes. One that holds neither does little each time round; it is told of when it is entered, by the
// block that leads into it.
#pragma once

#include <span>
#include <vector>

#include "observe/code/loop_forest.hpp"

namespace terrace::observe {

struct FlowBlock {
  std::vector<BlockIndex> targets;  // of its jumps
  bool goes_on = true;              // to the next block
  bool goes_anywhere = false;       // jumps to where the program computes
  bool has_hook = false;            // a block's own
  bool calls = false;               // functions that are no hooks
};

struct LoopMarks {
  LoopForest forest;
  std::vector<BlockIndex> turns;   // by block: the head of the loop whose turns its hook tells; k_no_block: none
  std::vector<bool> at_end;        // by block that tells of turns: it does so when one ends, not when one begins
  std::vector<bool> is_in_small;   // by block: in a loop that neither calls nor holds another
  std::vector<BlockIndex> enters;  // by block: the head of the loop that its hook leads into; k_no_block: none

  [[nodiscard]] bool marks(BlockIndex block) const {
    return turns[block] != k_no_block || enters[block] != k_no_block;
  }
};

// Of a function's blocks in the order of their addresses. Where jumps may lead anywhere, every block is a target
// that nothing else leads to.
LoopMarks mark_loops(std::span<const FlowBlock> blocks);

}  // namespace terrace::observe
