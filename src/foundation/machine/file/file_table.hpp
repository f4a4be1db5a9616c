// [[file]] in a machine file: a place that programs cannot address.
#pragma once

#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/file/part_names.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Beside places that are known; at most one each. Complains as the tables do.
void read_files(const std::vector<TomlTable>& tables, const Names& places, MachineParts& parts);

}  // namespace terrace::machine
