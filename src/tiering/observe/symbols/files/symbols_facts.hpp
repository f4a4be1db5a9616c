// SPDX-License-Identifier: Apache-2.0
// Collects the tables of a module's symbol file (symbol_file.hpp) while the launcher creates it, with their
// strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/symbols/symbol_file.hpp"

struct Elf;

namespace terrace::observe {

// Stores each string once.
class StringPool {
 public:
  StringPool() { add(""); }
  std::uint32_t add(std::string_view text);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::string_view at(std::uint32_t offset) const { return bytes_.c_str() + offset; }

 private:
  std::string bytes_;
  std::unordered_map<std::string, std::uint32_t> offsets_;
};

struct SymbolFacts {
  std::string path;
  std::vector<std::uint8_t> build_id;
  bool has_markers = false;      // it calls markers of terrace.h
  bool may_load_code = false;    // it may load libraries or start other programs
  bool loads_libraries = false;  // it calls dlopen(3) or dlmopen(3)
  std::vector<SymbolFunction> functions;
  std::vector<SymbolSite> sites;
  std::vector<SymbolVariable> variables;
  std::vector<SymbolHook> hooks;
  std::vector<SymbolLoop> loops;
  std::vector<SymbolSpan> spans;
  StringPool strings;
};

// Version of the contents of symbol files, beyond their layout: files of another version in the user's cache are
// created anew. Increase it with every change to names (symbol_names.cpp, symbols_dwarf.cpp, symbols_scopes.cpp),
// to the set of allocators (is_allocator_name and its users), to the counted instructions (symbols_code.cpp), or
// to what is omitted.
//
// 2: lambdas have the name of their enclosing function; inlined copies are allocators if the original is.
// 3: instructions of hooks.
// 4: a jump through a GOT slot leaves the function.
// 5: whether a module loads libraries.
inline constexpr std::uint32_t k_naming_version = 6;

// Minimum size of a named static variable: smaller ones never have a page of their own.
inline constexpr std::uint64_t k_min_variable = 1024;

// Returns whether a function's name alone identifies it as an allocator.
bool is_allocator_name(std::string_view name);

void read_build_id(Elf* elf, SymbolFacts& facts);
// Reads functions and variables from the ELF symbol tables.
void read_elf_symbols(Elf* elf, SymbolFacts& facts);
// Reads the instructions of each hook and the loops from the code (x86-64).
void read_code(Elf* elf, SymbolFacts& facts);
// Reads sites, better names of variables and members of COMMON blocks from the debug information, if there is any.
void read_debug_information(Elf* elf, SymbolFacts& facts);

}  // namespace terrace::observe
