// SPDX-License-Identifier: Apache-2.0
// Reads [[copier]] of a machine file.
#pragma once

#include "machine/copier_price.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Throws Error{invalid} as TomlTable does.
CopierPrice read_copier(const TomlTable& table);

}  // namespace terrace::machine
