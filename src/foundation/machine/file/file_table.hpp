// SPDX-License-Identifier: Apache-2.0
// Reads [[file]] of a machine file: the backing file of a memory.
#pragma once

#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Reads the tables into `parts`, at most one for each of the known `places`. Throws Error{invalid} as TomlTable
// does.
void read_files(const std::vector<TomlTable>& tables, const NameIndex& places, MachineParts& parts);

}  // namespace terrace::machine
