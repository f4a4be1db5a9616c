// SPDX-License-Identifier: Apache-2.0
// Validates, writes and reads a range of a dataset in an HDF5 file, slab by slab. Used by checkpoints and by the
// copies of single datasets.
#pragma once

#include <string>
#include <vector>

#include "stencil/engine/engine.hpp"
#include "stencil/io/hdf5_file.hpp"
#include "stencil/io/seal.hpp"

namespace terrace::stencil::io {

// A range to copy, and its name in the file.
struct Part {
  Engine& engine;
  DatasetId dataset;
  Range range;
  std::string name;  // name with groups: "grid/u"

  [[nodiscard]] const DatasetInfo& info() const { return engine.info(dataset); }
};

// Throws Error{invalid} if a file cannot store the part: its elements are not numbers, or its name is invalid.
void check_part(const std::string& path, const Part& part);

// Writes the part, over an existing dataset of the same type and range. Throws Error{invalid} if a different
// one exists, {failed}. Returns where its values are.
Extent write_part(const Hdf5File& file, const Part& part);

// A dataset in the file that matches a part.
class StoredDataset {
 public:
  // Throws Error{not_found}, which names the datasets in the file, {invalid} for another type or range,
  // {corrupt}.
  StoredDataset(const Hdf5File& file, const Part& part);
  // Throws Error{corrupt} if the values do not match their checksum.
  void read(const Hdf5File& file, const Part& part) const;

 private:
  Handle id_;
};

// Returns the names of all datasets of the file.
[[nodiscard]] std::vector<std::string> stored_names(const Hdf5File& file);

}  // namespace terrace::stencil::io
