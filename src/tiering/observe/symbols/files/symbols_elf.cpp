// SPDX-License-Identifier: Apache-2.0
// Reads functions, variables and the build-id from an ELF file's tables, for the symbol files that the launcher
// writes. See symbols_facts.hpp.
#include <gelf.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string_view>

#include "observe/hooks/hook_names.hpp"
#include "observe/symbols/files/symbols_facts.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::observe {

namespace {

// Functions of include/terrace that mark the main loop or a phase.
bool is_marker(std::string_view name) {
  return name == "terrace_loop_begin" || name == "terrace_phase" || name == "terrace_fortran_loop_begin" ||
         name == "terrace_fortran_phase" || name == "unimem_start";
}

// Functions that load code into the process.
bool is_library_loader(std::string_view name) {
  name = name.substr(0, name.find('@'));
  return name == "dlopen" || name == "dlmopen";
}

// Functions that load or start code that is not linked with the program. Symbol tables append versions after an @.
bool is_loader(std::string_view name) {
  static constexpr std::array k_loaders{"dlopen",      "dlmopen",      "execv",  "execve", "execvp",
                                        "execvpe",     "execl",        "execlp", "execle", "system",
                                        "posix_spawn", "posix_spawnp", "popen"};
  return std::ranges::find(k_loaders, name.substr(0, name.find('@'))) != k_loaders.end();
}

// Collects the functions and variables of a symbol table, and notes references to markers and loaders.
void read_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, SymbolFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (!data || header.sh_entsize == 0) return;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, i, &symbol)) continue;
    const char* const name = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (!name || !*name) continue;
    if (symbol.st_shndx == SHN_UNDEF && is_marker(name)) facts.has_markers = true;
    if (symbol.st_shndx == SHN_UNDEF && is_loader(name)) facts.may_load_code = true;
    if (symbol.st_shndx == SHN_UNDEF && is_library_loader(name)) facts.loads_libraries = true;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC || type == STT_GNU_IFUNC) {
      const auto text = readable_name(name);
      const auto flags = (is_allocator_name(text) ? k_symbol_allocator : 0) |
                         (std::string_view(name).ends_with(k_unhooked_ending) ? k_symbol_unhooked : 0);
      facts.functions.push_back(
          {symbol.st_value, static_cast<std::uint32_t>(symbol.st_size), facts.strings.add(text), flags, 0});
    } else if ((type == STT_OBJECT || type == STT_COMMON) && symbol.st_size >= k_min_variable) {
      facts.variables.push_back({symbol.st_value, symbol.st_size, facts.strings.add(readable_name(name)), 0});
    }
  }
}

// Takes the build-id from a note section.
void read_notes(Elf_Scn* section, SymbolFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (!data) return;
  std::size_t name_at = 0;
  std::size_t text_at = 0;
  GElf_Nhdr note;
  for (std::size_t at = 0; (at = gelf_getnote(data, at, &note, &name_at, &text_at)) > 0;) {
    const auto* const bytes = static_cast<const std::uint8_t*>(data->d_buf);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || std::memcmp(bytes + name_at, "GNU", 4) != 0)
      continue;
    facts.build_id.assign(bytes + text_at, bytes + text_at + std::min(note.n_descsz, k_build_id_bytes));
  }
}

}  // namespace

std::uint32_t StringPool::add(std::string_view text) {
  const auto [at, is_new] = offsets_.try_emplace(std::string(text), static_cast<std::uint32_t>(bytes_.size()));
  if (is_new) bytes_.append(text).push_back('\0');
  return at->second;
}

bool is_allocator_name(std::string_view name) {
  if (name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("operator new"))
    return true;
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("alloc") != std::string::npos && lower.find("dealloc") == std::string::npos;
}

void read_build_id(Elf* elf, SymbolFacts& facts) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE) read_notes(section, facts);
  }
}

void read_elf_symbols(Elf* elf, SymbolFacts& facts) {
  bool full = false;  // .symtab includes .dynsym
  Elf_Scn* dynamic = nullptr;
  GElf_Shdr dynamic_header{};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type == SHT_SYMTAB) {
      read_table(elf, section, header, facts);
      full = true;
    } else if (header.sh_type == SHT_DYNSYM) {
      dynamic = section;
      dynamic_header = header;
    }
  }
  if (!full && dynamic) read_table(elf, dynamic, dynamic_header, facts);
  const auto by_address = [](const auto& a, const auto& b) { return a.low < b.low; };
  std::ranges::stable_sort(facts.functions, by_address);
  std::ranges::stable_sort(facts.variables, by_address);
}

}  // namespace terrace::observe
