// SPDX-License-Identifier: Apache-2.0
// Lets HDF5 use a file of ours.
#pragma once

#include <hdf5.h>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// Registers the driver; the identifier is for H5FDunregister.
[[nodiscard]] hid_t register_driver();
// Files that are opened with the property list are this one, whatever the name says: H5Fcreate and H5Fopen get its
// path. Negative where HDF5 refuses.
[[nodiscard]] herr_t use_driver(hid_t file_access, hid_t driver, File& file);

}  // namespace terrace::stencil::io
