// SPDX-License-Identifier: Apache-2.0
// Recognises MPI libraries by the file names of the code on the call stack. pthread_create(3) asks, in virtual
// time. See mpi_threads.hpp.
#include "agent/interpose/mpi_threads.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "agent/linking/next.hpp"

namespace terrace::agent {

namespace {

constinit thread_local bool t_is_of_mpi __attribute__((tls_model("initial-exec"))) = false;

// Returns the path of the file that contains the code, or null.
const char* file_of(void* code) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  // Looked up at run time: older C libraries (before glibc 2.35) lack it.
  static constinit NextFunction<int (*)(void*, dl_find_object*)> find{"_dl_find_object"};
  dl_find_object found;
  if (*find) return (*find)(code, &found) == 0 ? found.dlfo_link_map->l_name : nullptr;
#endif
  Dl_info about;
  return dladdr(code, &about) != 0 ? about.dli_fname : nullptr;
}

// MPI itself, and the run-time systems that start its processes (Open MPI's two, PMIx).
constexpr std::array<std::string_view, 5> k_libraries{"libmpi", "libopen-rte.", "libopen-pal.", "libpmix.",
                                                      "libprrte."};

bool is_mpi_library(const char* path) noexcept {
  const std::string_view file(path ? path : "");
  const auto name = file.substr(file.rfind('/') + 1);
  return std::ranges::any_of(k_libraries, [&](std::string_view one) { return name.starts_with(one); });
}

}  // namespace

bool is_in_mpi() noexcept {
  if (t_is_of_mpi) return true;
  bool is_found = false;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* found) {
        void* const code = reinterpret_cast<void*>(_Unwind_GetIP(context));  // NOLINT(performance-no-int-to-ptr)
        if (!is_mpi_library(file_of(code))) return _URC_NO_REASON;
        *static_cast<bool*>(found) = true;
        return _URC_END_OF_STACK;
      },
      &is_found);
  return is_found;
}

void note_mpi_thread() noexcept { t_is_of_mpi = true; }

}  // namespace terrace::agent
