// SPDX-License-Identifier: Apache-2.0
// Implements write_hdf5() and read_hdf5(), by which programs copy a range of one dataset to and from an HDF5 file.
// See terrace/stencil/hdf5.hpp.
#include "terrace/stencil/hdf5.hpp"

#include <unistd.h>

#include "stencil/io/stored_dataset.hpp"

namespace terrace::stencil::detail {
namespace {

void write(io::File& file, const io::Part& part) {
  auto hdf5 = file.size() == 0 ? io::Hdf5File::make(file, 0) : io::Hdf5File::open(file, io::Use::change);
  io::write_part(hdf5, part);
  hdf5.close();
  file.sync();
  file.check();
}

}  // namespace

void write_hdf5(const std::string& path, Engine& engine, DatasetId dataset, const std::string& name,
                const Range& range) {
  const io::Part part{engine, dataset, range, name};
  io::check_part(path, part);
  engine.check_kept(dataset, range);
  engine.run();
  const io::Library library;
  io::File file(path, io::Use::change);
  try {
    write(file, part);
  } catch (...) {
    if (file.is_made()) unlink(path.c_str());
    throw;
  }
}

void read_hdf5(const std::string& path, Engine& engine, DatasetId dataset, const std::string& name,
               const Range& range) {
  const io::Part part{engine, dataset, range, name};
  io::check_part(path, part);
  engine.check_kept(dataset, range);
  engine.run();
  const io::Library library;
  io::File file(path, io::Use::read);
  const auto hdf5 = io::Hdf5File::open(file, io::Use::read);
  io::StoredDataset(hdf5, part).read(hdf5, part);
}

}  // namespace terrace::stencil::detail
