// SPDX-License-Identifier: Apache-2.0
// Decides from the session and the loaded files whether and when Terrace starts in this process. Called by
// startup.cpp before main(). See late_start.hpp.
#include "agent/lifecycle/late_start.hpp"

#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/module_code.hpp"
#include "agent/linking/mpi_layer.hpp"
#include "core/errno_scope.hpp"
#include "runtime/session/session.hpp"

namespace terrace::agent {

namespace {

struct StaticContents {
  std::size_t size = 0;  // bytes of writable segments
  bool asks = false;
};

// Adds up the static data of a loaded file, and returns 1 at a file that was built for Terrace (`asks`).
int inspect_file(dl_phdr_info* info, std::size_t, void* context) noexcept {
  auto& found = *static_cast<StaticContents*>(context);
  if (is_in_mpi_layer(info->dlpi_addr)) return 0;  // its references to Terrace are no request of the program
  std::size_t size = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    if (is_in_terrace(info->dlpi_addr + part.p_vaddr)) return 0;
    if ((part.p_flags & PF_W) != 0) size += part.p_memsz;
  }
  found.size += size;
  found.asks = uses_terrace(*info);
  return found.asks ? 1 : 0;
}

// Returns 1 if the file is the run-time library of a sanitizer or of valgrind.
int find_checker(dl_phdr_info* info, std::size_t, void*) noexcept {
  const std::string_view path(info->dlpi_name ? info->dlpi_name : "");
  const auto name = path.substr(path.rfind('/') + 1);
  // vgpreload_core is preloaded by valgrind.
  for (const std::string_view runtime :
       {"libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "vgpreload_core"})
    if (name.starts_with(runtime)) return 1;
  return 0;
}

constexpr const char* k_unfollowed = "_unfollowed";  // suffix of the library variant without hooks

// Returns the path by which the program was executed, which names the process. Returns null if the dynamic linker
// was executed explicitly.
const char* own_file() noexcept {
  const auto* const called =
      reinterpret_cast<const char*>(getauxval(AT_EXECFN));  // NOLINT(performance-no-int-to-ptr)
  struct stat by_name {
  }, by_kernel{};
  const bool is_same = called && stat(called, &by_name) == 0 && stat("/proc/self/exe", &by_kernel) == 0 &&
                       by_name.st_dev == by_kernel.st_dev && by_name.st_ino == by_kernel.st_ino;
  return is_same && getauxval(AT_BASE) != 0 ? called : nullptr;
}

// Variables that contain the library's path: the dynamic linker's, and those of region tools (cli/launch.cpp).
constexpr std::string_view k_preload = "LD_PRELOAD=";
constexpr std::array<std::string_view, 4> k_names_of_library{
    k_preload, "NVTX_INJECTION64_PATH=", "KOKKOS_TOOLS_LIBS=", "KOKKOS_PROFILE_LIBRARY="};

// Returns the position of the variant's suffix in such a variable, or null.
const char* unfollowed_in(const char* variable) noexcept {
  const auto is_of = [variable](std::string_view name) { return std::string_view(variable).starts_with(name); };
  return std::ranges::any_of(k_names_of_library, is_of) ? std::strstr(variable, k_unfollowed) : nullptr;
}

}  // namespace

void reexec_with_hooks(char** words, char** environment) noexcept {
  std::size_t count = 0;
  bool is_preloaded = false;
  for (; environment[count]; ++count)
    is_preloaded = is_preloaded || (std::string_view(environment[count]).starts_with(k_preload) &&
                                    unfollowed_in(environment[count]));
  const char* const file = is_preloaded ? own_file() : nullptr;
  if (!file) return;
  auto** const changed = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  std::copy_n(environment, count + 1, changed);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const at = unfollowed_in(environment[i]);
    if (!at) continue;
    auto* const variable = static_cast<char*>(alloca(std::strlen(environment[i]) + 1));
    const auto before = static_cast<std::size_t>(at - environment[i]);
    std::memcpy(variable, environment[i], before);
    std::strcpy(variable + before, at + std::strlen(k_unfollowed));
    changed[i] = variable;
  }
  const ErrnoScope errno_scope;
  syscall(SYS_execve, file, words, changed);
}

bool is_first_allocator() noexcept {
  static const bool is = std::ranges::all_of(
      std::array{"malloc", "calloc", "realloc", "free"},
      [](const char* name) { return is_in_terrace(reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name))); });
  return is;
}

bool has_memory_checker() noexcept { return dl_iterate_phdr(find_checker, nullptr) != 0; }

StartDecision decide_start(const char* session) noexcept {
  const bool has_choice = !std::string_view(session).ends_with(runtime::k_called_session);
  const bool is_late = !has_choice || std::string_view(session).ends_with(runtime::k_late_session);
  if (is_late && access(session, R_OK) != 0) return {.is_enabled = false};
  StaticContents found;
  dl_iterate_phdr(inspect_file, &found);
  if (!is_late) return {.needs_hooks = found.asks};
  return {true, found.asks, found.asks, has_choice && found.size >= k_large, has_choice};
}

}  // namespace terrace::agent
