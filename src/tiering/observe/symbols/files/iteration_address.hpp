// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction of a loop on which a breakpoint counts iterations. Used for the loops of uninstrumented
// functions (function_loops.hpp).
//
// An armed breakpoint slows the code in the same 64 bytes, also where it is never hit: a loop there took 15 times
// as long on an AMD EPYC. So the loop's header is not always the right place.
#pragma once

#include <cstdint>
#include <span>

#include "observe/code/loop_forest.hpp"
#include "observe/symbols/files/code_blocks.hpp"

namespace terrace::observe {

// Returns the address of an instruction that each iteration executes once and for which both hold, or 0:
// - No function is called on the way from the header to it, or none on the way from it to the next iteration. Else
//   a breakpoint there would divide the calls of an iteration.
// - No instruction of another loop is in its 64 bytes, unless that loop contains this one or calls a function in
//   each iteration, and so takes long anyway. Prefers 64 bytes that lie entirely within the function: those of
//   other functions may have loops that are not known.
// `blocks`: the function's, with their control flow and loops; `head`: the loop's.
std::uint64_t iteration_address(std::span<const CodeBlock> blocks, const ControlFlow& flow,
                                const LoopForest& forest, BlockIndex head);

}  // namespace terrace::observe
