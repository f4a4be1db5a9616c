// SPDX-License-Identifier: Apache-2.0
// Reads and writes the table [[gpu]] of a machine file: a GPU for the simulator. The parser and the formatter of
// machine files call it.
#pragma once

#include <string>

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"
#include "machine/gpu.hpp"

namespace terrace::machine {

// Reads a GPU that refers to known initiators, places and paths. Throws Error{invalid} as TomlTable does.
Gpu read_gpu(const TomlTable& table, const NameIndex& initiators, const NameIndex& places,
             const MachineParts& parts);
// Formats the table with the names of the machine's parts.
std::string format_gpu(const Gpu& gpu, const MachineParts& parts);

}  // namespace terrace::machine
