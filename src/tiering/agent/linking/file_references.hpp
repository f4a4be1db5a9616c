// SPDX-License-Identifier: Apache-2.0
// Reads a loaded file's symbolic relocations: which functions of other files it refers to, and the slots that hold
// their addresses. Used to clear and rebind references (absent_functions.cpp, later_files.cpp).
#pragma once

#include <link.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace terrace::agent {

// Tables of a file's dynamic section. Borrowed: valid while the file stays loaded.
struct FileReferences {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const ElfW(Word) * hash = nullptr;
  std::array<std::span<const ElfW(Rela)>, 2> relocations;  // data, then PLT

  // Reads the tables of a file that stays loaded meanwhile; without `names` or `symbols` where it has none.
  static FileReferences read(const dl_phdr_info& info) noexcept;

  [[nodiscard]] bool is_there() const noexcept { return names && symbols; }
  // Returns the number of leading symbols that may be undefined. Defined ones are last in the GNU hash table.
  [[nodiscard]] std::size_t undefined() const noexcept { return gnu_hash ? gnu_hash[1] : hash ? hash[1] : 0; }
  [[nodiscard]] const char* name(std::size_t index) const noexcept { return names + symbols[index].st_name; }

  // Calls `body` with index of the symbol and address of the slot, for each relocation by a symbol.
  template <class Body>
  void for_each_slot(std::uint64_t base, Body&& body) const {
    for (const auto& kind : relocations)
      for (const auto& one : kind)
        if (const auto index = ELF64_R_SYM(one.r_info); index != 0) body(index, base + one.r_offset);
  }
};

// Writes a slot, and makes its page writable first (PT_GNU_RELRO).
void set_slot(const dl_phdr_info& info, std::uint64_t address, std::uint64_t value) noexcept;

inline std::uint64_t slot_value(std::uint64_t address) noexcept {
  return *reinterpret_cast<const std::uint64_t*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace terrace::agent
