// SPDX-License-Identifier: Apache-2.0
// Restores the tail calls that exit hooks prevent in gcc's code. Called by the assembler stand-in.
//
// A compiler that instruments functions puts the hook of a function's exit behind its last call. That call is then
// no longer in tail position, so the compiler cannot replace it by a jump (sibling-call
// optimisation), and code that relies on it overflows its stack: mutual recursion, interpreters, coroutines with
// symmetric transfer. Here such a call becomes a jump again, and the hook comes before it:
//
//     call f                                     call *__tsan_func_exit_tail@GOTPCREL(%rip)
//     movq %rax, %rbx                            addq $8, %rsp
//     call *__tsan_func_exit@GOTPCREL(%rip)  ->  popq %rbx
//     addq $8, %rsp                              jmp f
//     movq %rbx, %rax
//     popq %rbx
//     ret
//
// __tsan_func_exit_tail (observe/hooks/hooks_tail.cpp) preserves every register, the parameters of `f` included.
//
// A call is replaced only if all of these hold; an unknown instruction prevents it:
// - behind it there are hooks, restored registers and a return, and what `f` returns is returned unchanged. The
//   compiler's names of its instruction patterns (gcc's -dp) tell a copy from a conversion, which can look alike;
// - no address of the function's own stack frame exists, so that `f` cannot refer to it, and the call has no
//   parameters on the stack;
// - an exception that `f` throws passes through the function without being handled there. Coroutines of gcc that
//   resume another one are exempt from this rule and the one before: nothing of theirs is left on the stack;
// - the function calls nothing that returns twice (setjmp);
// - calls of `f` may nest without a bound (call_depth.hpp). Others need no jump, and their frames name what they
//   allocate.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Takes assembly as gcc -dp writes it for x86-64, AT&T syntax, and returns it with its tail calls restored and
// without the comments that -dp adds. Other text is returned as it is: the wrappers ask for -dp where the user
// asks for sibling-call optimisation.
std::string restore_tail_calls(std::string_view assembly);

}  // namespace terrace::cli
