// What a linker's symbol is called by people.
#pragma once

#include <string>

namespace terrace::observe {

// A change here raises k_naming_version (symbols_facts.hpp).
//
// Demangled and without parameters: "Grid<double>::smooth". Of gfortran's: "module.name", "name" for "name.7".
std::string readable_name(const char* symbol);

}  // namespace terrace::observe
