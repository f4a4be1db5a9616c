// [[copier]] in a machine file.
#pragma once

#include "machine/copier_price.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Complains as the table does.
CopierPrice read_copier(const TomlTable& table);

}  // namespace terrace::machine
