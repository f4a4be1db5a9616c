// The symbol file: what the launcher found out about one executable or library, for the library inside the
// program, which maps it and looks things up without allocating. One file a module, cached by build-id.
//
// Layout: the header, then the tables in its order, each 8-byte aligned and sorted by address, then the strings,
// each ended by a zero. Addresses are the module's own (before it is loaded somewhere). Native byte order.
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
  std::uint32_t check = 0;  // CRC-32C of everything behind the header
  std::uint64_t file_bytes = 0;
  std::array<std::uint8_t, k_build_id_bytes> build_id{};
  std::uint32_t build_id_size = 0;  // 0: the module has none
  std::uint32_t path = 0;           // where the module was found (in the strings, as all names here)
  std::uint64_t flags = 0;
  std::uint64_t functions = 0;  // how many of each
  std::uint64_t sites = 0;
  std::uint64_t variables = 0;
  std::uint64_t hooks = 0;
  std::uint64_t loops = 0;
  std::uint64_t spans = 0;
  std::uint64_t string_bytes = 0;
};

inline constexpr std::uint64_t k_symbol_markers = 1;     // of the module: it marks its main loop and phases
inline constexpr std::uint64_t k_symbol_loads_more = 2;  // of the module: it loads libraries or begins programs
inline constexpr std::uint64_t k_symbol_loads_libraries = 4;  // of the module: it calls dlopen(3) or dlmopen(3)
inline constexpr std::uint32_t k_symbol_allocator =
    1;  // it hands out memory for others: not what a block is named by
inline constexpr std::uint32_t k_symbol_no_code = 2;   // sites: nothing is known from here on
inline constexpr std::uint32_t k_symbol_unhooked = 8;  // functions: the version without hooks (code/unhooked.hpp)
inline constexpr std::uint32_t k_symbol_common = 4;    // variables: a member of a COMMON block

struct SymbolFunction {
  std::uint64_t low = 0;
  std::uint32_t size = 0;
  std::uint32_t name = 0;
  std::uint32_t flags = 0;
  std::uint32_t unused = 0;
};

// From `low` to the next one's `low`, code belongs to this line of this function: the innermost that is not an
// allocator, with inlined functions counted as functions.
struct SymbolSite {
  std::uint64_t low = 0;
  std::uint32_t function = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t flags = 0;
};

// A call of a hook (an access's, or a basic block's), by its return address, and how many instructions of the
// program's own go with it.
struct SymbolHook {
  std::uint64_t low = 0;
  std::uint32_t instructions = 0;
  std::uint32_t iterates =
      0;  // the loop of which an iteration begins or ends here, from 1; 0: none (code/loop_marks.hpp)
  std::uint32_t enters = 0;  // the loop that begins behind it, from 1; 0: none
  std::uint32_t at_end = 0;  // 1: the turn ends here, another may begin
};

// A loop, with those in it right behind it, by the address of its head.
struct SymbolLoop {
  std::uint64_t low = 0;
  std::uint64_t back = 0;    // the last instruction before it is begun again; 0: none was found
  std::uint32_t around = 0;  // the loop around it, from 1; 0: none
  std::uint32_t last = 0;    // of the loops in it, from 1; itself where there is none
};

// From `low` to the next one's `low`, code is in this loop and in none of those in it.
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
