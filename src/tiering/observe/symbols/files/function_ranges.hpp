// SPDX-License-Identifier: Apache-2.0
// Reads the file ranges of a program's functions, to resolve recorded samples, which consist of file and offset.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace terrace::observe {

struct FunctionRange {
  std::uint64_t begin = 0, end = 0;  // offsets in the file
  std::string name;                  // in the source, without parameters (symbol_names.hpp)
};

// Returns the functions of the file's symbol table, ascending by offset. Empty where the file is no program or
// library of this machine.
std::vector<FunctionRange> function_ranges(const std::string& file);

}  // namespace terrace::observe
