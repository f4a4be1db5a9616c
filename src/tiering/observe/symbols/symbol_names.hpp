// What a linker's symbol is called by people.
#pragma once

#include <string>
#include <string_view>

namespace terrace::observe {

// A change here raises k_naming_version (symbols_facts.hpp).
//
// Demangled and without parameters: "Grid<double>::smooth". Of gfortran's: "module.name", "name" for "name.7".
std::string readable_name(const char* symbol);

// The name under which a function was written, of the readable one of a part or a clone that the compiler made of
// it.
std::string written_name(std::string_view name);

// Returns whether the compiler made the function to initialise a file's static variables: its name, which differs
// between compilers, is in no source.
bool is_static_initializer(std::string_view name);

}  // namespace terrace::observe
