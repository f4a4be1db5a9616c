// SPDX-License-Identifier: Apache-2.0
// A range of a dataset in an HDF5 file: what it has to be like, writing and reading it in pieces.
#pragma once

#include <string>
#include <vector>

#include "stencil/engine/engine.hpp"
#include "stencil/io/hdf5_file.hpp"
#include "stencil/io/seal.hpp"

namespace terrace::stencil::io {

// What is copied, and where it is in the file.
struct Part {
  Engine& engine;
  DatasetId dataset;
  Range range;
  std::string name;  // with groups: "grid/u"

  [[nodiscard]] const DatasetInfo& info() const { return engine.info(dataset); }
};

// Throws Error{invalid} where no file can have the part: its elements are no numbers, or its name names nothing.
void check_part(const std::string& path, const Part& part);

// Writes it, over one of the same type and range that is there. Throws Error{invalid} where one that differs is
// there, {failed}. Returns where its numbers are.
Extent write_part(const Hdf5File& file, const Part& part);

// One that is in the file and agrees with a part.
class StoredDataset {
 public:
  // Throws Error{not_found} naming those that there are, {invalid} where it is of another type or range,
  // {corrupt}.
  StoredDataset(const Hdf5File& file, const Part& part);
  // Throws Error{corrupt} where the numbers are not those that were written.
  void read(const Hdf5File& file, const Part& part) const;

 private:
  Handle id_;
};

// All datasets of the file.
[[nodiscard]] std::vector<std::string> stored_names(const Hdf5File& file);

}  // namespace terrace::stencil::io
