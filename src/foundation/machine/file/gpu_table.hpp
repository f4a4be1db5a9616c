// [[gpu]] in a machine file: what a GPU in virtual time is made of.
#pragma once

#include <string>

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"
#include "machine/gpu.hpp"

namespace terrace::machine {

// Of initiators, places and paths that are known. Complains as the tables do.
Gpu read_gpu(const TomlTable& table, const Names& initiators, const Names& places, const MachineParts& parts);
// The table's text, with the names that the machine's parts have.
std::string format_gpu(const Gpu& gpu, const MachineParts& parts);

}  // namespace terrace::machine
