// Beside each function with hooks a copy of it without, for the time in which nobody listens.
//
// Both are one function in two versions that differ in the calls of hooks alone. Behind a call every register that
// code may count on holds the same in both, so behind each call the function looks whether anyone listens, and
// goes on in the version for that: within loops, too, and however long it has been running. The copy makes no
// calls itself; it jumps to the hooked version's. So return addresses, call stacks, exceptions, and what hooks
// tell of functions and loops, are those of the hooked version.
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
// Hooks of loops (thin_blocks.hpp) count as calls, those of accesses and of other blocks are what the copy leaves
// out. A function that does something of its own within its text, such as naming a place in inline assembly, has
// no copy.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Assembly as gcc writes it for x86-64, AT&T syntax; other text is left as it is.
std::string add_unhooked_copies(std::string_view assembly);

}  // namespace terrace::cli
