// SPDX-License-Identifier: Apache-2.0
// Clears the slots of weak references that the dynamic linker has bound to the layer. See weak_references.hpp.
#include "agent/mpi/weak_references.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdlib>

#include "agent/linking/file_references.hpp"
#include "agent/mpi/real_functions.hpp"
#include "core/errno_scope.hpp"

namespace terrace::agent {

namespace {

// Descriptions of the loaded files. They are copied first: dl_iterate_phdr(3) holds a lock of the dynamic linker,
// which dlopen(3) and dlsym(3) take in another order.
struct Files {
  dl_phdr_info* files = nullptr;
  std::size_t count = 0;
};

constinit std::atomic<unsigned long long> g_num_loads{0};  // at the last call

// Stops at once if no file was loaded since the last call.
int add_file(dl_phdr_info* info, std::size_t, void* to) noexcept {
  auto& files = *static_cast<Files*>(to);
  if (files.count == 0 && g_num_loads.exchange(info->dlpi_adds, std::memory_order_acq_rel) == info->dlpi_adds)
    return 1;
  void* const grown = std::realloc(files.files, (files.count + 1) * sizeof *info);
  if (!grown) return 1;
  files.files = static_cast<dl_phdr_info*>(grown);
  files.files[files.count++] = *info;
  return 0;
}

// Returns whether the file would find the function without the layer.
bool is_provided(void* file, const char* name) noexcept {
  if (dlsym(RTLD_NEXT, name)) return true;
  const void* const found = dlsym(file, name);
  return found && !is_own_entry(found);
}

void clear_in_file(const dl_phdr_info& info) noexcept {
  const bool is_program = !info.dlpi_name || !*info.dlpi_name;
  void* const file = dlopen(is_program ? nullptr : info.dlpi_name, RTLD_LAZY | RTLD_NOLOAD);  // pins it
  if (!file) return;
  const auto references = FileReferences::read(info);
  if (references.is_there())
    references.for_each_slot(info.dlpi_addr, [&](std::size_t index, std::uint64_t address) {
      const auto& symbol = references.symbols[index];
      if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) return;
      const auto* const bound = reinterpret_cast<const void*>(slot_value(address));  // NOLINT
      if (is_own_entry(bound) && !is_provided(file, references.name(index))) set_slot(info, address, 0);
    });
  dlclose(file);
}

}  // namespace

void clear_weak_references() noexcept {
  const ErrnoScope errno_scope;
  Files files;
  dl_iterate_phdr(&add_file, &files);
  for (std::size_t i = 0; i < files.count; ++i) clear_in_file(files.files[i]);
  std::free(files.files);
}

}  // namespace terrace::agent

namespace {
[[gnu::constructor]] void clear_at_start() noexcept { terrace::agent::clear_weak_references(); }
}  // namespace
