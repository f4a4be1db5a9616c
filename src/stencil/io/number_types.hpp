// SPDX-License-Identifier: Apache-2.0
// Maps the library's number types to HDF5 types and their names.
#pragma once

#include <hdf5.h>

#include <string>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil::io {

// Return HDF5's predefined types, which exist once the library is open and must not be closed.
[[nodiscard]] hid_t type_in_file(Number number);
[[nodiscard]] hid_t type_in_memory(Number number);
// Returns the type's name, as "float64".
[[nodiscard]] std::string name_of(Number number);
// Describes an HDF5 type: "float64", "unsigned int8", "text".
[[nodiscard]] std::string text_of_type(hid_t type);
// Returns whether `type` is that number type, in either byte order.
[[nodiscard]] bool is_number(hid_t type, Number number);

}  // namespace terrace::stencil::io
