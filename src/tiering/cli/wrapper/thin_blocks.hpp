// SPDX-License-Identifier: Apache-2.0
// Removes ("thins") hooks of basic blocks that carry no information beyond those of accesses. The assembler
// stand-in calls it for each file that terrace-cc and its siblings compile with gcc.
//
// The accesses of a block count its executions, so only blocks without accesses need a hook of their own
// (observe/symbols/files/symbols_code.cpp attributes the work of blocks accordingly): one call in three in inner
// loops. Hooks that report loops stay as well (observe/code/loop_marks.hpp), and are marked by a comment
// (k_loop_mark).
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Takes assembly as gcc writes it for x86-64, in either syntax, and returns it with fewer hooks; other text is
// returned unchanged. Also removes hooks of blocks whose instructions cost less than a hook, unless they are
// loops.
std::string thin_blocks(std::string_view assembly);

}  // namespace terrace::cli
