// What the compiler's assembler gets to read: code without the basic blocks' hooks that say nothing new.
//
// The accesses of a block tell how often it was executed, so only blocks without any need a hook of their own
// (observe/symbols/files/symbols_code.cpp shares a block's work out accordingly): one call in three, where inner
// loops are. Those that tell of loops stay, too (observe/code/loop_marks.hpp), and a comment says so.
#pragma once

#include <string>
#include <string_view>

namespace terrace::cli {

// Assembly as gcc writes it for x86-64, in either syntax; other text is left as it is. Hooks are also left out of
// blocks of so few instructions that a hook would cost more than they do, unless they are loops.
std::string thin_blocks(std::string_view assembly);

}  // namespace terrace::cli
