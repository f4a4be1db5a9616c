// SPDX-License-Identifier: Apache-2.0
// Defines the table of MPI functions, and spells their exported names. See functions.hpp.
#include "agent/mpi/functions.hpp"

#include <cstring>

namespace terrace::agent {

constexpr MpiFunction k_mpi_functions[] = {
#include "mpi_functions.inc"
};
constexpr std::size_t k_num_mpi_functions = sizeof k_mpi_functions / sizeof k_mpi_functions[0];
static_assert(k_num_mpi_functions <= k_max_mpi_functions);

void write_entry_name(std::uint32_t entry, char (&name)[k_max_mpi_name]) noexcept {
  const MpiFunction& function = function_of(entry);
  const Spelling spelling = spelling_of(entry);
  if (spelling == Spelling::k_c) {
    std::strcpy(name, is_profiling(entry) ? "PMPI_" : "MPI_");
    std::strcat(name, function.name);
    return;
  }
  std::strcpy(name, is_profiling(entry) ? "pmpi_" : "mpi_");
  char* end = name + std::strlen(name);
  for (const char* from = function.name; *from; ++from)
    *end++ = static_cast<char>(*from >= 'A' && *from <= 'Z' ? *from - 'A' + 'a' : *from);
  if (spelling == Spelling::k_f08_large || spelling == Spelling::k_f08ts_large) end -= 2;  // without `_c`
  constexpr const char* k_suffixes[] = {"", "_", "_f08_", "_f08ts_", "_f08_large_", "_f08ts_large_"};
  std::strcpy(end, k_suffixes[static_cast<std::size_t>(spelling)]);
}

const char* terrace_mpi_function_name(std::size_t index) noexcept {
  return index < k_num_mpi_functions ? k_mpi_functions[index].name : nullptr;
}

std::size_t terrace_mpi_num_arguments(std::size_t index) noexcept {
  return index < k_num_mpi_functions ? k_mpi_functions[index].num_arguments : 0;
}

}  // namespace terrace::agent
