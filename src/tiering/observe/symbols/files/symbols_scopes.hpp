// The scopes of a program's code, functions and what was inlined into them, and what an address in them is called.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/symbols/files/symbols_facts.hpp"

namespace terrace::observe {

struct CodeScope {
  std::uint32_t name = 0;
  bool allocator = false;
  int parent = -1;              // the scope that it was inlined into
  std::uint32_t call_file = 0;  // where in the parent
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
  bool end = false;      // nothing is known from here on
  bool library = false;  // of a header of the C++ library
};

// One row for each stretch of code that has one answer: the innermost scope that is no allocator, and the line in
// it. Compilers lose the scopes of some code that they have inlined from the library: it has the line of the code
// behind it in the same function, else of the code before it.
std::vector<SymbolSite> flatten_scopes(const std::vector<CodeScope>& scopes, std::vector<ScopeRange> ranges,
                                       std::vector<LineRow> lines);

}  // namespace terrace::observe
