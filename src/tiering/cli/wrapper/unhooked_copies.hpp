// SPDX-License-Identifier: Apache-2.0
// Adds to each instrumented function a copy without hooks, which runs while no collector is active. Called by the
// assembler stand-in.
//
// The two versions differ in the calls of hooks alone. Behind a call, all registers that code may rely on hold the
// same values in both. So behind each call the function tests whether a collector is active, and continues in the
// matching version: within loops, too, and however long it has been running. The copy makes no calls itself; it
// jumps to those of the hooked version. So return addresses, call stacks, exceptions, and the hooks' reports on
// functions and loops are those of the hooked version.
//
//     f:          ...
//                 call __tsan_read8             # not in the copy
//                 ...
//     .Lcall:     call g                        # the copy has: jmp .Lcall
//                 if (terrace_unhooked) goto .Lbehind
//                 ...
//     f.unhooked: ...
//                 jmp .Lcall
//     .Lbehind:   ...
//
// Hooks of loops (thin_blocks.hpp) count as calls; the copy omits those of accesses and of other blocks. A
// function that contains directives or labels that cannot be duplicated, such as labels of inline assembly, has no
// copy.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Takes assembly as gcc writes it for x86-64, AT&T syntax, and returns it with copies; other text is returned
// unchanged.
std::string add_unhooked_copies(std::string_view assembly);

}  // namespace terrace::cli
