// See absent_functions.hpp.
#include "agent/lifecycle/absent_functions.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "agent/lifecycle/in_process.hpp"
#include "core/rounding.hpp"
#include "machine/library.hpp"

namespace terrace::agent {

namespace {

// Whether it is a function of another library that is stood in for, and no API of Terrace's own.
bool is_stand_in(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 4> k_families{"GOMP_", "omp_", "cali_", "_ZN4cali"};
  return std::ranges::any_of(k_families, [name](std::string_view family) { return name.starts_with(family); }) ||
         std::ranges::any_of(machine::k_library, [name](const auto& one) { return one.name == name; });
}

// Holds the symbols and relocations that a file's dynamic section names.
struct Tables {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const ElfW(Word) * hash = nullptr;
  std::array<std::span<const ElfW(Rela)>, 2> relocations;  // of data, of calls

  // How many symbols can be undefined: the GNU hash table has those that are defined, at the end.
  [[nodiscard]] std::size_t undefined() const noexcept { return gnu_hash ? gnu_hash[1] : hash ? hash[1] : 0; }
};

template <class Value>
Value* pointer(std::uint64_t base, std::uint64_t value) noexcept {       // the vDSO's are not relocated
  return reinterpret_cast<Value*>(value < base ? base + value : value);  // NOLINT(performance-no-int-to-ptr)
}

Tables read_tables(std::uint64_t base, const ElfW(Dyn) * dynamic) noexcept {
  Tables tables;
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

bool is_weakly_wanted(const Tables& tables, std::size_t index) noexcept {
  const auto& symbol = tables.symbols[index];
  return symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_WEAK &&
         is_stand_in(tables.names + symbol.st_name) && !dlsym(RTLD_NEXT, tables.names + symbol.st_name);
}

// The page may have become read-only when all was bound (PT_GNU_RELRO).
void clear(const dl_phdr_info& info, std::uint64_t address) noexcept {
  bool is_read_only = false;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO && address - info.dlpi_addr - part.p_vaddr < part.p_memsz) is_read_only = true;
  }
  auto* const slot = reinterpret_cast<std::uint64_t*>(address);    // NOLINT(performance-no-int-to-ptr)
  auto* const page = reinterpret_cast<void*>(page_down(address));  // NOLINT(performance-no-int-to-ptr)
  const auto size = page_up(address + sizeof *slot) - page_down(address);
  if (is_read_only && ::mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return;
  *slot = 0;
  if (is_read_only) ::mprotect(page, size, PROT_READ);
}

int clear_in(dl_phdr_info* info, std::size_t, void*) noexcept {
  if (is_in_terrace(info->dlpi_addr)) return 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);  // NOLINT
  const auto tables = dynamic ? read_tables(info->dlpi_addr, dynamic) : Tables{};
  if (!tables.names || !tables.symbols) return 0;
  bool is_wanted = false;
  for (std::size_t i = 1; i < tables.undefined() && !is_wanted; ++i) is_wanted = is_weakly_wanted(tables, i);
  if (!is_wanted) return 0;
  for (const auto relocations : tables.relocations)
    for (const auto& one : relocations) {
      const auto index = ELF64_R_SYM(one.r_info);
      const auto address = info->dlpi_addr + one.r_offset;
      if (index == 0 || !is_weakly_wanted(tables, index)) continue;
      if (is_in_terrace(*reinterpret_cast<const std::uint64_t*>(address))) clear(*info, address);  // NOLINT
    }
  return 0;
}

}  // namespace

void clear_absent_functions() noexcept {
  const auto saved = errno;
  dl_iterate_phdr(clear_in, nullptr);
  errno = saved;
}

}  // namespace terrace::agent
