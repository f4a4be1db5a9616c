// SPDX-License-Identifier: Apache-2.0
// Resolves, for the Python bindings, code addresses of a past run, recorded by another tool, to the names that
// `terrace run` gives to objects allocated there; and reads the file ranges of a program's functions, to resolve
// recorded samples, which consist of file and offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "observe/symbols/symbols.hpp"

namespace terrace::observe {

class ProgramSites {
 public:
  // `bias`: load address of a position-independent program in that process; ignored for others. Finds nothing
  // where the file is no program of this machine.
  ProgramSites(const std::string& program, std::uint64_t bias);

  struct Site {
    std::string name;      // "makea cg.cpp:120", "makea+0x1c"
    std::string function;  // "": unknown
    bool is_allocator = false;
  };
  // Returns nothing where the address is not in the program.
  [[nodiscard]] std::optional<Site> find(std::uint64_t address) const;

 private:
  SymbolTable table_;
};

// Reads the file ranges of a program's functions, to resolve recorded samples, which consist of file and offset.
struct FunctionRange {
  std::uint64_t begin = 0, end = 0;  // offsets in the file
  std::string name;                  // in the source, without parameters (symbol_names.hpp)
};

// Returns the functions of the file's symbol table, ascending by offset. Empty where the file is no program or
// library of this machine.
std::vector<FunctionRange> function_ranges(const std::string& file);

}  // namespace terrace::observe
