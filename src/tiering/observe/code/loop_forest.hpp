// The loops of a function, from its control flow: which basic blocks are loops' heads, and which loop each block
// belongs to. After Wei, Mao, Zou and Chen, "A New Algorithm for Identifying Loops in Decompilation", SAS 2007:
// one depth-first walk, irreducible loops included (their head is the block that the walk enters them by).
#pragma once

#include <cstdint>
#include <vector>

namespace terrace::observe {

using BlockIndex = std::uint32_t;
inline constexpr BlockIndex k_no_block = ~BlockIndex{0};

struct ControlFlow {
  std::vector<std::vector<BlockIndex>> successors;  // by block; the function is entered at block 0
  // Further blocks that may be entered from elsewhere: where jumps lead that nobody can read, handlers.
  std::vector<BlockIndex> entries;
};

struct LoopForest {
  // By block: the head of the innermost loop around it, a head's own loop not counted; k_no_block: none.
  std::vector<BlockIndex> around;
  std::vector<bool> is_head;

  // The head of the innermost loop that the block is in, as a head or inside; k_no_block: none.
  [[nodiscard]] BlockIndex loop_of(BlockIndex block) const { return is_head[block] ? block : around[block]; }
  // Whether the block is in the loop with that head, at whatever depth.
  [[nodiscard]] bool holds(BlockIndex head, BlockIndex block) const;
};

LoopForest find_loops(const ControlFlow& flow);

// Joins two loops that are one in the source. A compiler that knows what a test at a loop's beginning gives, most
// often ("print every 20 steps"), lets the loop jump past it, and what the test guards becomes the head of a loop
// around. Such an outer loop decides nothing: it is left from within the inner loop alone, and each time round it
// comes to the inner loop's head. That head stands for both then.
void join_split_loops(const ControlFlow& flow, LoopForest& forest);

}  // namespace terrace::observe
