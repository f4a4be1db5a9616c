// SPDX-License-Identifier: Apache-2.0
// Clears weak references to functions that only Terrace's stand-ins define (OpenMP, Caliper, libm). A program that
// tests such a reference (`if (omp_set_lock)`) must find it null, as without Terrace. Called at start-up, and for
// files that the program loads later (lifecycle/later_files.cpp).
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace terrace::agent {

// Returns whether the name is a stand-in for another library's function, not an API of Terrace.
bool is_stand_in(std::string_view name) noexcept;

// Clears these references in all loaded files. Requires: called once, after the dynamic linker has bound them
// and before code of the program runs. Allocates only what a failed dlsym(3) does.
void clear_absent_functions() noexcept;

// Clears these references in one file. `is_provided`: whether code at `address` reaches the function without
// Terrace.
using IsProvided = bool (*)(const char* name, std::uint64_t address);
void clear_absent_in(const dl_phdr_info& info, IsProvided is_provided) noexcept;

}  // namespace terrace::agent
