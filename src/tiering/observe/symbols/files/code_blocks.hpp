// SPDX-License-Identifier: Apache-2.0
// Cuts a function's instructions into basic blocks, for the loops and the hooks of symbol files (symbols_code.cpp)
// and for the loops of uninstrumented functions (function_loops.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "observe/code/loop_marks.hpp"
#include "observe/symbols/files/disassembly.hpp"

namespace terrace::observe {

using CodeBlock = std::span<const Instruction>;

// Returns the blocks in the order of their addresses; they borrow `code`.
std::vector<CodeBlock> cut_blocks(const std::vector<Instruction>& code);

// Returns the return address of the block's own hook; 0: none.
std::uint64_t own_hook(CodeBlock block);

// Returns the blocks with their control flow.
std::vector<FlowBlock> flow_blocks(const std::vector<CodeBlock>& blocks);

// Returns, by block, for the head of a loop the address of the back edge's jump; 0 for others.
std::vector<std::uint64_t> back_edges(const std::vector<CodeBlock>& blocks, const LoopForest& forest);

}  // namespace terrace::observe
