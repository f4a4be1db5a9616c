// SPDX-License-Identifier: Apache-2.0
// Finds the library that interposes MPI by one of its functions. See mpi_layer.hpp.
#include "agent/linking/mpi_layer.hpp"

#include <dlfcn.h>

extern "C" {
// Declared in agent/mpi/call_events.hpp, whose library depends on this folder.
[[gnu::weak]] void* terrace_mpi_real(const char* name) noexcept;
}

namespace terrace::agent {

bool has_mpi_layer() noexcept { return terrace_mpi_real != nullptr; }

bool is_in_mpi_layer(std::uint64_t address) noexcept {
  if (!terrace_mpi_real) return false;
  Dl_info layer;
  Dl_info found;
  const auto* const code = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr)
  return dladdr(reinterpret_cast<const void*>(&terrace_mpi_real), &layer) != 0 && dladdr(code, &found) != 0 &&
         layer.dli_fbase == found.dli_fbase;
}

bool is_provided_by_mpi(const char* name) noexcept { return terrace_mpi_real && terrace_mpi_real(name); }

}  // namespace terrace::agent
