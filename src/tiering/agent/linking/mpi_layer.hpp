// SPDX-License-Identifier: Apache-2.0
// Tells whether the library that interposes MPI (agent/mpi/call_events.hpp) is loaded, and which of its functions
// stand for functions of a loaded MPI library. A program that looks by dlsym(3) for a function which its MPI lacks
// must not find it (lifecycle/later_files.cpp); weak references are that library's own concern
// (agent/mpi/weak_references.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace terrace::agent {

// Returns whether the name is one of MPI's, as that library defines them.
inline bool is_mpi_name(std::string_view name) noexcept {
  return name.starts_with("MPI_") || name.starts_with("PMPI_") || name.starts_with("mpi_") ||
         name.starts_with("pmpi_");
}

// Returns whether that library is loaded.
bool has_mpi_layer() noexcept;
// Returns whether the address is in it.
bool is_in_mpi_layer(std::uint64_t address) noexcept;
// Returns whether a loaded MPI library defines the function.
bool is_provided_by_mpi(const char* name) noexcept;

}  // namespace terrace::agent
