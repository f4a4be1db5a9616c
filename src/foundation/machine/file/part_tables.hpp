// SPDX-License-Identifier: Apache-2.0
// Reads [[file]] (the backing file of a memory), [[ordering]] and [[copier]] for the parser of machine files.
// Errors are those of TomlTable: Error{invalid}.
#pragma once

#include <vector>

#include "machine/copier_price.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Reads the tables into `parts`, at most one for each of the known `places`.
void read_files(const std::vector<TomlTable>& tables, const NameIndex& places, MachineParts& parts);

// Reads an ordering of known places. Refuses a second one for the same intent and initiator.
StatedOrdering read_ordering(const TomlTable& table, const NameIndex& initiators, const MachineParts& parts);

// Reads the name of a Source; Source::file if the key is absent.
Source read_source(const TomlTable& table, std::string_view key);

CopierPrice read_copier(const TomlTable& table);

}  // namespace terrace::machine
