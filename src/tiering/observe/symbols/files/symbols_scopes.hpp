// SPDX-License-Identifier: Apache-2.0
// Defines the scopes of a program's code, functions and inlined functions, and derives the site (function and
// line) of each address, for symbol files.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/symbols/files/symbols_facts.hpp"

namespace terrace::observe {

struct CodeScope {
  std::uint32_t name = 0;
  bool allocator = false;
  int parent = -1;              // the scope into which it was inlined
  std::uint32_t call_file = 0;  // call site in the parent
  std::uint32_t call_line = 0;
  std::uint32_t depth = 0;
};

struct ScopeRange {
  std::uint64_t low = 0, high = 0;
  int scope = 0;
};

struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  bool end = false;      // the line table ends here
  bool library = false;  // of a header of the C++ library
};

// Returns one row for each range of code with the same site: the innermost scope that is no allocator, and the
// line in it. Compilers lose the scopes of some code inlined from the library: it gets the line of the following
// code in the same function, else of the preceding code.
std::vector<SymbolSite> flatten_scopes(const std::vector<CodeScope>& scopes, std::vector<ScopeRange> ranges,
                                       std::vector<LineRow> lines);

}  // namespace terrace::observe
