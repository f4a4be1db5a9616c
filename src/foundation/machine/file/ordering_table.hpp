// [[ordering]] in a machine file, and where its figures come from.
#pragma once

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// For places that are known, and not for what another ordering of these parts is for. Complains as the table does.
StatedOrdering read_ordering(const TomlTable& table, const Names& initiators, const MachineParts& parts);

// A word of Source; `file` where the key is absent.
Source read_source(const TomlTable& table, std::string_view key);

}  // namespace terrace::machine
