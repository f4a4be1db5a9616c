#include "front/module_code.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace terrace::front {

namespace {

// The tables of a file's dynamic section that name what it asks others for.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const char* relocations[2]{};  // of data, and of calls
  std::uint64_t bytes[2]{};
};

Tables read_tables(const dl_phdr_info& info, const ElfW(Dyn) * entry) {
  // The dynamic linker has made addresses of them, except where the section is read-only (the vDSO).
  const auto address = [&](std::uint64_t value) {
    return reinterpret_cast<const char*>(value < info.dlpi_addr ? info.dlpi_addr + value : value);
  };
  Tables tables;
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address(entry->d_un.d_ptr));
        break;
      case DT_STRTAB:
        tables.names = address(entry->d_un.d_ptr);
        break;
      case DT_RELA:
        tables.relocations[0] = address(entry->d_un.d_ptr);
        break;
      case DT_RELASZ:
        tables.bytes[0] = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        tables.relocations[1] = address(entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        tables.bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return tables;
}

bool is_hook(const char* name) { return std::strncmp(name, "__tsan_", 7) == 0; }

}  // namespace

bool calls_hooks(const dl_phdr_info& info) noexcept {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  if (!dynamic) return false;
  const auto tables = read_tables(info, dynamic);
  if (!tables.symbols || !tables.names) return false;
  for (int table = 0; table < 2; ++table) {
    if (!tables.relocations[table]) continue;
    for (std::uint64_t at = 0; at + sizeof(ElfW(Rela)) <= tables.bytes[table]; at += sizeof(ElfW(Rela))) {
      const auto& relocation = *reinterpret_cast<const ElfW(Rela)*>(tables.relocations[table] + at);
      const auto symbol = ELF64_R_SYM(relocation.r_info);
      if (symbol != 0 && tables.symbols[symbol].st_shndx == SHN_UNDEF &&
          is_hook(tables.names + tables.symbols[symbol].st_name))
        return true;
    }
  }
  return false;
}

}  // namespace terrace::front
