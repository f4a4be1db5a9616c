// SPDX-License-Identifier: Apache-2.0
// Walks the call stack to the code that names an allocation, for the interposed malloc and mmap. See callers.hpp.
//
// Uses the unwinder, not the hooks' shadow stack, which does not know the line at which a function called a
// library (operator new, a Fortran run-time library).
#include "agent/lifecycle/callers.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include <array>
#include <cstring>

#include "agent/lifecycle/in_process.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"
#include "observe/symbols/symbol_names.hpp"

namespace terrace::agent {

constinit thread_local const char* t_mpi_library __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

constexpr int k_max_frames = 64;

struct StackWalk {
  explicit StackWalk(Process& given) : process(given) {}
  Process& process;
  int frames = 0;
  int rank = 0;  // of the best candidate so far
  observe::SymbolTable::Site site;
  std::uint64_t address = 0;

  void update_best(int new_rank, const observe::SymbolTable::Site& new_site, std::uint64_t new_address) {
    if (new_rank <= rank) return;
    rank = new_rank;
    site = new_site;
    address = new_address;
  }
};

// Examines one frame. Called by the unwinder, innermost first, until a frame of the program's own code is found.
_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<StackWalk*>(data);
  if (++walk.frames > k_max_frames) return _URC_END_OF_STACK;
  int before = 0;
  auto address = static_cast<std::uint64_t>(_Unwind_GetIPInfo(context, &before));
  if (address == 0) return _URC_END_OF_STACK;
  if (before == 0) --address;  // a return address: the call is before it
  if (is_in_terrace(address)) return _URC_NO_REASON;
  const auto found = find_symbol(walk.process, address);
  if (found.site.module < 0) return _URC_NO_REASON;
  if (found.described && !found.site.allocator) {
    walk.update_best(4, found.site, address);
    return _URC_END_OF_STACK;
  }
  // Fallbacks, best first: another library, an allocator of the program, a run-time library.
  const int rank = found.described ? 2 : is_runtime_library(found.path) ? 1 : 3;
  walk.update_best(rank, found.site, address);
  return _URC_NO_REASON;
}

}  // namespace

bool is_runtime_library(const char* path) noexcept {
  static constexpr std::array k_prefixes{"libc.so",     "libc-",       "libstdc++",   "libc++",     "libgfortran",
                                         "libgomp",     "libomp",      "libm.so",     "libpthread", "ld-linux",
                                         "libjemalloc", "libtcmalloc", "libmimalloc", "libgcc_s"};
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash ? slash + 1 : path;
  for (const char* prefix : k_prefixes)
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  return false;
}

std::string_view name_caller(Process& process, char* buffer) noexcept {
  if (t_mpi_library) return t_mpi_library;
  StackWalk walk(process);
  _Unwind_Backtrace(step, &walk);
  return describe_symbol(process, walk.site, walk.address, buffer, k_name_capacity);
}

std::string function_name(Process& process, std::uint64_t address) {
  const auto found = find_symbol(process, address);
  if (found.site.function) return found.site.function;
  // Without a symbol file: use the symbols that the file exports.
  Dl_info known;
  const auto* const code = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  if (found.site.module < 0 || dladdr(code, &known) == 0 || !known.dli_sname) return {};
  return observe::readable_name(known.dli_sname);
}

}  // namespace terrace::agent
