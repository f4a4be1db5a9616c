// SPDX-License-Identifier: Apache-2.0
// Finds the definitions to which the layer forwards calls. Thread-safe.
#pragma once

namespace terrace::agent {

// Returns the next definition of a name: the one that the caller would reach without the layer. Programs that load
// MPI with RTLD_LOCAL have it outside the global scope: then searches the caller's file with its dependencies, and
// all loaded files after it, and pins the file with the definition in memory. Returns null where no loaded file defines the function.
// `caller` is an address in the calling file, or null.
void* find_real(const char* name, const void* caller) noexcept;

// Returns whether the address is that of an entry of the layer.
bool is_own_entry(const void* function) noexcept;

}  // namespace terrace::agent
