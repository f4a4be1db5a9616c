// What --phases names, against the functions that the program and its libraries are known to have.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace terrace::cli {

struct PhaseNames {
  std::vector<std::string> functions;  // as the library inside the program will know them
  std::vector<std::string> unknown;    // of them, those that no function is called
};

// A name is a function's whole name ("Particles::push"), or the end of one from a "::" on, where only one ends so;
// its symbol's, as nm prints it ("_ZN9Particles4pushEv", "conj_grad_", "__grid_MOD_smooth"); or a pattern of whole
// names with * and ?, which stands for all that it matches. Throws Error{invalid} that lists the candidates where
// there are several and only one is meant: of an end, and of the first name, which an iteration begins with.
PhaseNames resolve_phases(const std::vector<std::string>& wanted, std::span<const std::string> known);

}  // namespace terrace::cli
