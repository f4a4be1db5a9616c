// What --loop names, against the loops that the program and its libraries are known to have.
#pragma once

#include <span>
#include <string>

#include "observe/loops/loop_name.hpp"

namespace terrace::cli {

struct LoopChoice {
  std::string loop;  // as the library inside the program will know it: a loop's name, a function's, or a pattern
  std::string unknown;  // where nothing is called so: that, and what is called nearly so, in words
};

// A name is a loop's ("solve:120"), or a function's, whose first loop is meant; the function's in any form that
// --phases takes. Or "solve.c:120", the file and the line of the loop; or a pattern of loops' or functions' names.
// Throws Error{invalid} that lists the candidates where there are several.
LoopChoice resolve_loop(const std::string& wanted, std::span<const observe::LoopName> known);

}  // namespace terrace::cli
