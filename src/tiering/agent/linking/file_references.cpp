// SPDX-License-Identifier: Apache-2.0
// Reads the tables of symbols and relocations in the dynamic section of a loaded ELF file. The code that
// redirects a library's calls to Terrace's functions (linking/) uses them. See file_references.hpp.
#include "agent/linking/file_references.hpp"

#include <elf.h>
#include <sys/mman.h>

#include "core/rounding.hpp"

namespace terrace::agent {

namespace {

template <class Value>
Value* pointer(std::uint64_t base, std::uint64_t value) noexcept {       // the vDSO's are not relocated
  return reinterpret_cast<Value*>(value < base ? base + value : value);  // NOLINT(performance-no-int-to-ptr)
}

// Finds the tables from the entries of the dynamic section.
FileReferences read_tables(std::uint64_t base, const ElfW(Dyn) * dynamic) noexcept {
  FileReferences tables;
  std::array<std::uint64_t, 2> at{}, size{};
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto value = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_STRTAB:
        tables.names = pointer<const char>(base, value);
        break;
      case DT_SYMTAB:
        tables.symbols = pointer<const ElfW(Sym)>(base, value);
        break;
      case DT_GNU_HASH:
        tables.gnu_hash = pointer<const std::uint32_t>(base, value);
        break;
      case DT_HASH:
        tables.hash = pointer<const ElfW(Word)>(base, value);
        break;
      case DT_RELA:
        at[0] = value;
        break;
      case DT_RELASZ:
        size[0] = value;
        break;
      case DT_JMPREL:
        at[1] = value;
        break;
      case DT_PLTRELSZ:
        size[1] = value;
        break;
      default:
        break;
    }
  }
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i] != 0) tables.relocations[i] = {pointer<const ElfW(Rela)>(base, at[i]), size[i] / sizeof(ElfW(Rela))};
  return tables;
}

}  // namespace

FileReferences FileReferences::read(const dl_phdr_info& info) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);  // NOLINT
  return dynamic ? read_tables(info.dlpi_addr, dynamic) : FileReferences{};
}

void set_slot(const dl_phdr_info& info, std::uint64_t address, std::uint64_t value) noexcept {
  bool is_read_only = false;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO && address - info.dlpi_addr - part.p_vaddr < part.p_memsz) is_read_only = true;
  }
  auto* const slot = reinterpret_cast<std::uint64_t*>(address);    // NOLINT(performance-no-int-to-ptr)
  auto* const page = reinterpret_cast<void*>(page_down(address));  // NOLINT(performance-no-int-to-ptr)
  const auto size = page_up(address + sizeof *slot) - page_down(address);
  if (is_read_only && ::mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return;
  *slot = value;
  if (is_read_only) ::mprotect(page, size, PROT_READ);
}

}  // namespace terrace::agent
