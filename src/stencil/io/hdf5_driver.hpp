// SPDX-License-Identifier: Apache-2.0
// Registers an HDF5 virtual file driver over io::File, which keeps the system's error of a failed write. Hdf5File
// opens every file through it.
#pragma once

#include <hdf5.h>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// Registers the driver and returns its identifier, for H5FDunregister.
[[nodiscard]] hid_t register_driver();
// Makes opens with this property list use `file`; pass its path to H5Fcreate and H5Fopen. Returns a negative
// value if HDF5 refuses.
[[nodiscard]] herr_t use_driver(hid_t file_access, hid_t driver, File& file);

}  // namespace terrace::stencil::io
