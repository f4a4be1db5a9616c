// SPDX-License-Identifier: Apache-2.0
// Derives readable names of functions and variables from linker symbols, for the symbol files, the agent and the
// launcher.
#pragma once

#include <string>
#include <string_view>

namespace terrace::observe {

// A change here requires a new k_naming_version (symbols_facts.hpp).
//
// Returns the demangled name without parameters: "Grid<double>::smooth"; for gfortran's symbols "module.name", and
// "name" for "name.7".
std::string readable_name(const char* symbol);

// Returns the name of a function in the source, for the readable name of a part or a clone that the compiler made
// of it.
std::string source_name(std::string_view name);

// Returns whether the compiler made the function to initialise a file's static variables: its name, which differs
// between compilers, is in no source.
bool is_static_initializer(std::string_view name);

}  // namespace terrace::observe
