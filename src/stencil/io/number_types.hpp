// SPDX-License-Identifier: Apache-2.0
// Numbers as HDF5 has them.
#pragma once

#include <hdf5.h>

#include <string>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil::io {

// Types are the library's own: they are not to be closed, and are there once it is open.
[[nodiscard]] hid_t type_in_file(Number number);
[[nodiscard]] hid_t type_in_memory(Number number);
// "float64".
[[nodiscard]] std::string name_of(Number number);
// "float64", "unsigned int8", "text".
[[nodiscard]] std::string text_of_type(hid_t type);
// It is such a number, in one byte order or the other.
[[nodiscard]] bool is_number(hid_t type, Number number);

}  // namespace terrace::stencil::io
