// SPDX-License-Identifier: Apache-2.0
// Restores the tail calls that exit hooks prevent in clang's code, as tail_calls.hpp does in gcc's. Called by the
// assembler stand-in.
//
// clang writes its intermediate representation (LLVM IR) as text after hooks are in, and before it decides which
// calls become jumps. There the exit hook moves before the last call:
//
//     %2 = tail call i64 @f(i64 %1)              call void @__tsan_func_exit()
//     br label %4                                %2 = tail call i64 @f(i64 %1)
//   4:                                           br i1 true, label %terrace.tail.1, label %4
//     %5 = phi i64 [ %2, %0 ], [ %1, %3 ]  ->  terrace.tail.1:
//     call void @__tsan_func_exit()              ret i64 %2
//     ret i64 %5                               4:
//                                                (unchanged)
//
// The branch that is never taken keeps `phi` as it is; the code generator removes it. It also decides whether the
// call becomes a jump: where the calling convention does not allow one, the call stays, and only the hook is
// early.
//
// An exit hook moves only if all of these hold:
// - behind the call there are hooks and a return of what the call returned;
// - the optimiser marked the call `tail`: the callee has no address of the caller's frame. Hooks make invokes of
//   calls that may throw, which have no mark; those count only in functions without a frame in memory (alloca);
// - an exception from the call passes through the function without being handled there;
// - the function calls nothing that returns twice (setjmp), and the user did not turn tail calls off;
// - calls of the callee may nest without a bound (call_depth.hpp).
// Calls that the language guarantees (musttail, coroutines) have their exit hook before them by clang itself.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Returns whether a text is LLVM IR.
bool is_ir(std::string_view text);

// Returns LLVM IR with its tail calls restored. Lines that are not understood stay as they are.
std::string restore_ir_tail_calls(std::string_view ir);

}  // namespace terrace::cli
