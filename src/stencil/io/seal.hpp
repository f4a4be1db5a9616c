// SPDX-License-Identifier: Apache-2.0
// What stands before the HDF5 part of a checkpoint: which file this is, how long, and a checksum of all of it but
// the numbers of datasets, which have their own. It is checked before HDF5 sees the file, since HDF5 may crash on
// damaged ones. HDF5 calls this place the user block.
#pragma once

#include <cstdint>
#include <vector>

#include "stencil/io/file.hpp"

namespace terrace::stencil::io {

// Bytes of the file that are numbers of a dataset.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// How long it is for so many datasets: a power of two from 512 on.
[[nodiscard]] std::uint64_t seal_size(std::size_t datasets);
// Of a file that is complete otherwise. The file keeps what fails.
void write_seal(File& file, std::vector<Extent> extents);
// Throws Error{corrupt} where the file is damaged, {invalid} where it is no checkpoint, {failed} where the system
// refuses.
void check_seal(File& file);

}  // namespace terrace::stencil::io
