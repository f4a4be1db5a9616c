// SPDX-License-Identifier: Apache-2.0
// Resolves the names that users give with --phases and --loop against the functions and loops that the program and
// its libraries are known to have. The session builder calls it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "observe/loops/loop_name.hpp"

namespace terrace::cli {

struct PhaseNames {
  std::vector<std::string> functions;  // as the library inside the program will know them
  std::vector<std::string> unknown;    // those of `functions` that match no known function
};

// Resolves --phases. A name is a function's qualified name ("Particles::push"); the end of one after a "::", if it
// is unique; a symbol as nm prints it ("_ZN9Particles4pushEv", "conj_grad_", "__grid_MOD_smooth"); or a pattern
// with * and ?, which stands for all qualified names that it matches. Throws Error{invalid} that lists the
// candidates if several match where one is required: for an ending, and for the first name, whose function begins
// an iteration.
PhaseNames resolve_phases(const std::vector<std::string>& wanted, std::span<const std::string> known);

struct LoopChoice {
  std::string loop;  // as the library inside the program will know it: a loop's name, a function's, or a pattern
  std::string problem;  // if nothing matches: says so, with the nearest names; "" otherwise
};

// Resolves --loop. A name is a loop's ("solve:120"); a file and line ("solve.c:120"); a function's, in any form of
// --phases, for its first loop; or a pattern of loops' or functions' names. Throws Error{invalid} that lists the
// candidates if several match.
LoopChoice resolve_loop(const std::string& wanted, std::span<const observe::LoopName> known);

}  // namespace terrace::cli
