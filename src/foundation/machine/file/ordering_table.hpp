// SPDX-License-Identifier: Apache-2.0
// Reads [[ordering]] of a machine file, and the sources of its figures.
#pragma once

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Reads an ordering of known places. Refuses a second one for the same intent and initiator. Throws Error{invalid}
// as TomlTable does.
StatedOrdering read_ordering(const TomlTable& table, const NameIndex& initiators, const MachineParts& parts);

// Reads the name of a Source; Source::file if the key is absent.
Source read_source(const TomlTable& table, std::string_view key);

}  // namespace terrace::machine
