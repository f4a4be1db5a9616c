// What is known about a module while its symbol file is made: the tables of symbol_file.hpp with their strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/symbols/symbol_file.hpp"

struct Elf;

namespace terrace::observe {

// Strings, each once.
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
  bool has_markers = false;      // it calls those of terrace.h
  bool loads_more = false;       // it calls what loads libraries or begins other programs
  bool loads_libraries = false;  // it calls dlopen(3) or dlmopen(3)
  std::vector<SymbolFunction> functions;
  std::vector<SymbolSite> sites;
  std::vector<SymbolVariable> variables;
  std::vector<SymbolHook> hooks;
  std::vector<SymbolLoop> loops;
  std::vector<SymbolSpan> spans;
  StringPool strings;
};

// What a module's names and flags are, and which instructions count (symbols_code.cpp), beyond the layout of the
// file that they are kept in: symbol files stay in the user's cache, and one of another version is made anew. To
// be raised with every change to what things are called (symbol_names.cpp, symbols_dwarf.cpp, symbols_scopes.cpp),
// to which of them are allocators (is_allocator_name and its users) or to which are left out.
//
// 2: lambdas go by the function that they are written in; inlined copies are allocators when the original is.
// 3: what goes with hooks.
// 4: a jump by a slot that the linker fills leads out of the function.
// 5: whether a module loads libraries.
inline constexpr std::uint32_t k_naming_version = 6;

// Static data from this size on is worth a name: smaller objects never have a page of their own.
inline constexpr std::uint64_t k_min_variable = 1024;

// Whether a function's name alone says that it hands out memory for others.
bool is_allocator_name(std::string_view name);

void read_build_id(Elf* elf, SymbolFacts& facts);
// From the ELF symbol tables: functions, variables.
void read_elf_symbols(Elf* elf, SymbolFacts& facts);
// From the code itself (x86-64): what goes with each call of a hook, and loops.
void read_code(Elf* elf, SymbolFacts& facts);
// From the debug information, if there is any: sites, better names of variables, members of COMMON blocks.
void read_debug_information(Elf* elf, SymbolFacts& facts);

}  // namespace terrace::observe
