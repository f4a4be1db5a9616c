// SPDX-License-Identifier: Apache-2.0
// Clears weak references to absent OpenMP, Caliper and libm functions in their GOT and data slots. Called at
// start-up, and for files that dlopen(3) loads later. See absent_functions.hpp.
#include "agent/linking/absent_functions.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "agent/linking/file_references.hpp"
#include "agent/linking/injected_library.hpp"
#include "core/errno_scope.hpp"
#include "machine/library.hpp"

namespace terrace::agent {

bool is_stand_in(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 4> k_families{"GOMP_", "omp_", "cali_", "_ZN4cali"};
  return std::ranges::any_of(k_families, [name](std::string_view family) { return name.starts_with(family); }) ||
         std::ranges::any_of(machine::k_library, [name](const auto& one) { return one.name == name; });
}

void clear_absent_in(const dl_phdr_info& info, IsProvided is_provided) noexcept {
  if (is_in_terrace(info.dlpi_addr)) return;
  const auto references = FileReferences::read(info);
  if (!references.is_there()) return;
  const auto is_wanted = [&](std::size_t index) {
    const auto& symbol = references.symbols[index];
    return symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_WEAK &&
           is_stand_in(references.name(index)) && !is_provided(references.name(index), info.dlpi_addr);
  };
  bool is_any_wanted = false;
  for (std::size_t i = 1; i < references.undefined() && !is_any_wanted; ++i) is_any_wanted = is_wanted(i);
  if (!is_any_wanted) return;
  references.for_each_slot(info.dlpi_addr, [&](std::size_t index, std::uint64_t address) {
    if (is_in_terrace(slot_value(address)) && is_wanted(index)) set_slot(info, address, 0);
  });
}

void clear_absent_functions() noexcept {
  const ErrnoScope errno_scope;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) noexcept {
        clear_absent_in(*info, [](const char* name, std::uint64_t) { return dlsym(RTLD_NEXT, name) != nullptr; });
        return 0;
      },
      nullptr);
}

}  // namespace terrace::agent
