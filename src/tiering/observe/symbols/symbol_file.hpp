// SPDX-License-Identifier: Apache-2.0
// Defines the format of the symbol file: functions, lines, variables, hooks and loops of one executable or
// library. The launcher writes it; the runtime in the program maps it and looks up without allocating. One file
// for each module, cached by build-id.
//
// Layout: header, then the tables in its order, each 8-byte aligned and sorted by address, then the
// zero-terminated strings. Addresses are those in the module's file (before relocation). Native byte order.
#pragma once

#include <array>
#include <cstdint>

namespace terrace::observe {

inline constexpr std::array<char, 8> k_symbol_magic{'T', 'E', 'R', 'R', 'S', 'Y', 'M', 'S'};
inline constexpr std::uint32_t k_symbol_version = 11;
inline constexpr std::uint32_t k_build_id_bytes = 32;

struct SymbolFileHeader {
  std::array<char, 8> magic = k_symbol_magic;
  std::uint32_t version = k_symbol_version;
  std::uint32_t check = 0;  // CRC-32C of all bytes after the header
  std::uint64_t file_bytes = 0;
  std::array<std::uint8_t, k_build_id_bytes> build_id{};
  std::uint32_t build_id_size = 0;  // 0: none
  std::uint32_t path = 0;           // of the module; an offset in the strings, like all names here
  std::uint64_t flags = 0;
  std::uint64_t functions = 0;  // numbers of rows
  std::uint64_t sites = 0;
  std::uint64_t variables = 0;
  std::uint64_t hooks = 0;
  std::uint64_t loops = 0;
  std::uint64_t spans = 0;
  std::uint64_t string_bytes = 0;
};

inline constexpr std::uint64_t k_symbol_markers = 1;  // module flag: it calls markers of its main loop or phases
inline constexpr std::uint64_t k_symbol_may_load_code = 2;    // module flag: it loads libraries or starts programs
inline constexpr std::uint64_t k_symbol_loads_libraries = 4;  // module flag: it calls dlopen(3) or dlmopen(3)
inline constexpr std::uint32_t k_symbol_allocator = 1;  // function and site flag: an allocator names no block
inline constexpr std::uint32_t k_symbol_no_code = 2;    // site flag: nothing is known from here on
inline constexpr std::uint32_t k_symbol_unhooked = 8;   // function flag: a copy without hooks (hook_names.hpp)
inline constexpr std::uint32_t k_symbol_common = 4;     // variable flag: a member of a COMMON block

struct SymbolFunction {
  std::uint64_t low = 0;
  std::uint32_t size = 0;
  std::uint32_t name = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
};

// Assigns the code from `low` to the next row's `low` to a line of a function: the innermost, possibly inlined,
// function that is not an allocator.
struct SymbolSite {
  std::uint64_t low = 0;
  std::uint32_t function = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t flags = 0;
};

// A call of a hook of an access or of a basic block, by its return address, and the number of the program's own
// instructions that it stands for.
struct SymbolHook {
  std::uint64_t low = 0;
  std::uint32_t instructions = 0;
  // The loop of which an iteration begins or ends here, from 1; 0: none (code/loop_marks.hpp).
  std::uint32_t iterates = 0;
  std::uint32_t enters = 0;  // the loop that is entered behind it, from 1; 0: none
  std::uint32_t at_end = 0;  // 1: an iteration ends here, another may begin
};

// A loop, by the address of its header. Its descendants follow it directly.
struct SymbolLoop {
  std::uint64_t low = 0;
  std::uint64_t back = 0;    // the jump of the back edge; 0: none was found
  std::uint32_t around = 0;  // the parent loop, from 1; 0: none
  std::uint32_t last = 0;    // its last descendant, from 1; itself where there is none
};

// Assigns the code from `low` to the next row's `low` to its innermost loop.
struct SymbolSpan {
  std::uint64_t low = 0;
  std::uint32_t loop = 0;  // from 1; 0: in none
  std::uint32_t unused = 0;
};

struct SymbolVariable {
  std::uint64_t low = 0;
  std::uint64_t size = 0;
  std::uint32_t name = 0;
  std::uint32_t flags = 0;
};

}  // namespace terrace::observe
