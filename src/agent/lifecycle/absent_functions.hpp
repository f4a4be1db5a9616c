// Functions that this library stands in for although no loaded file defines them: OpenMP's, Caliper's, libm's. A
// file that refers to one weakly, and looks whether it is there (`if (omp_set_lock)`), shall find it absent, as
// without Terrace.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace terrace::agent {

// Whether it is a function of another library that is stood in for, and no API of Terrace's own.
bool is_stand_in(std::string_view name) noexcept;

// Clears such references in all files that are loaded. Called once, when the program begins: the dynamic linker
// has bound them, and no code of the program has run. Allocates nothing but what the dynamic linker allocates for
// a failed search.
void clear_absent_functions() noexcept;

// Clears those of one file. `is_provided` says of a name whether code at that address reaches a function by it
// without Terrace.
using IsProvided = bool (*)(const char* name, std::uint64_t address);
void clear_absent_in(const dl_phdr_info& info, IsProvided is_provided) noexcept;

}  // namespace terrace::agent
