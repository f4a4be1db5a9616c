// SPDX-License-Identifier: Apache-2.0
// Reads the tables of MPI objects (share/mpi_objects/*.toml) for the launcher and the Python bindings;
// docs/reference/mpi-objects.md documents every key. A file that violates the schema is refused with one line that
// names file, line, key, what is wrong and what to do.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/mpi_objects/mpi_objects.hpp"

namespace terrace::strategy {

// Return a table. Throw Error{invalid}, "FILE:LINE: KEY: ..."; read_mpi_objects_file also Error{not_found} or
// Error{failed}.
MpiObjectTable parse_mpi_objects(std::string_view text, const std::string& file_name);
MpiObjectTable read_mpi_objects_file(const std::filesystem::path& path);

// Returns the tables of the first folder that has one: $TERRACE_MPI_OBJECTS, ../share/terrace/mpi_objects next to
// the executable's folder, the source tree. Tables come in the order of their file names.
std::vector<MpiObjectTable> shipped_mpi_objects();

}  // namespace terrace::strategy
