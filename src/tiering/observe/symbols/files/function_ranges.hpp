// Where in a program's file the code of its functions is: samples of a process that is over name files and
// offsets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace terrace::observe {

struct FunctionRange {
  std::uint64_t begin = 0, end = 0;  // offsets in the file
  std::string name;                  // as it was written, without parameters (symbol_names.hpp)
};

// Those of the file's symbol table, by where they begin. Empty where the file is no program or library of this
// machine.
std::vector<FunctionRange> function_ranges(const std::string& file);

}  // namespace terrace::observe
