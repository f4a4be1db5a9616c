// SPDX-License-Identifier: Apache-2.0
// Reads and writes the seal of a checkpoint: a header in HDF5's user block, before the HDF5 part. It has the
// file's identity, its length and a checksum of everything except datasets' values, which have their own.
// Checkpoint::restore() verifies it before HDF5 opens the file, because HDF5 may crash on damaged files.
#pragma once

#include <cstdint>
#include <vector>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// The bytes of a file that hold a dataset's values.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// Returns the seal's size for `datasets` datasets: a power of two >= 512.
[[nodiscard]] std::uint64_t seal_size(std::size_t datasets);
// Writes the seal of an otherwise complete file. The file stores failures.
void write_seal(File& file, std::vector<Extent> extents);
// Throws Error{corrupt} if the file is damaged, {invalid} if it is no checkpoint, {failed} if the system
// refuses.
void check_seal(File& file);

}  // namespace terrace::stencil::io
