// SPDX-License-Identifier: Apache-2.0
// Implements the search for MPI's functions, by dlsym(RTLD_NEXT) and in files of local scope. See
// real_functions.hpp.
#include "agent/mpi/real_functions.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "agent/mpi/call_events.hpp"
#include "core/errno_scope.hpp"

// The bounds of the layer's entries, in the assembly file.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" const char terrace_entries_begin[] __attribute__((visibility("hidden")));
extern "C" const char terrace_entries_end[] __attribute__((visibility("hidden")));
// NOLINTEND(readability-identifier-naming)

namespace terrace::agent {

bool is_own_entry(const void* function) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(function);
  return address >= reinterpret_cast<std::uintptr_t>(terrace_entries_begin) &&
         address < reinterpret_cast<std::uintptr_t>(terrace_entries_end);
}

namespace {

// Searches a loaded file and its dependencies. Leaves the file open if it has the definition.
void* find_in_file(const char* path, const char* name) noexcept {
  void* const file = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!file) return nullptr;
  void* const found = dlsym(file, name);
  if (found && !is_own_entry(found)) return found;
  dlclose(file);
  return nullptr;
}

// Paths of the loaded files, each with a terminating zero. They are copied before any is opened:
// dl_iterate_phdr(3) holds a lock of the dynamic linker, which dlopen(3) takes in another order.
struct Paths {
  char* text = nullptr;
  std::size_t size = 0;
};

int add_path(dl_phdr_info* info, std::size_t, void* to) noexcept {
  auto& paths = *static_cast<Paths*>(to);
  if (!info->dlpi_name || !*info->dlpi_name) return 0;
  const std::size_t length = std::strlen(info->dlpi_name) + 1;
  auto* const text = static_cast<char*>(std::realloc(paths.text, paths.size + length));
  if (!text) return 1;
  std::memcpy(text + paths.size, info->dlpi_name, length);
  paths = {text, paths.size + length};
  return 0;
}

void* find_in_loaded_files(const char* name, const void* caller) noexcept {
  Dl_info about;
  if (caller && dladdr(caller, &about) != 0 && about.dli_fname)
    if (void* const found = find_in_file(about.dli_fname, name)) return found;
  Paths paths;
  dl_iterate_phdr(&add_path, &paths);
  void* found = nullptr;
  for (std::size_t at = 0; !found && at < paths.size; at += std::strlen(paths.text + at) + 1)
    found = find_in_file(paths.text + at, name);
  std::free(paths.text);
  return found;
}

}  // namespace

void* find_real(const char* name, const void* caller) noexcept {
  const ErrnoScope errno_scope;
  void* const found = dlsym(RTLD_NEXT, name);
  return found ? found : find_in_loaded_files(name, caller);
}

void* terrace_mpi_real(const char* name) noexcept { return find_real(name, __builtin_return_address(0)); }

}  // namespace terrace::agent
