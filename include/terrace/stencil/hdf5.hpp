// SPDX-License-Identifier: Apache-2.0
// Reads and writes datasets of a stencil program in HDF5 files, and checkpoints of all datasets of a context. Link
// with terrace_stencil_hdf5.
//
//   Checkpoint checkpoint(context);
//   checkpoint.set("step", step);
//   checkpoint.write("state.h5");
//   ...
//   checkpoint.restore("state.h5");
//   step = checkpoint.integer("step");
//
// Values are copied in slabs of at most 32 MiB, so datasets may be larger than memory. Queued loops run first.
// Element types are double, float, std::int64_t and std::int32_t; other types are refused. Lines and reductions
// are not stored. All exceptions are terrace::Error (a std::runtime_error) with one line that begins with the
// file's name; for two datasets that a file could not tell apart, with their name.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

namespace detail {
TERRACE_STENCIL_PUBLIC void write_hdf5(const std::string& path, Engine& engine, DatasetId dataset,
                                       const std::string& name, const Range& range);
TERRACE_STENCIL_PUBLIC void read_hdf5(const std::string& path, Engine& engine, DatasetId dataset,
                                      const std::string& name, const Range& range);
}  // namespace detail

// Writes a range of the dataset to the file under a name ("u", "after/u": groups are created), with x as the
// last dimension. Creates the file if it does not exist. Overwrites a dataset of that name if it has the same
// type and range, else refuses it. Other datasets of the file are kept. Unlike a checkpoint, the file may be
// damaged by a crash meanwhile.
template <class T>
void write_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name, const Range& range) {
  detail::write_hdf5(path, dataset.engine(), dataset.id(), name, range);
}
template <class T>
void write_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name) {
  write_hdf5(path, dataset, name, dataset.range());
}

// Reads a range that write_hdf5() or another program wrote, in any layout and byte order. Refuses another type
// or size; in files of write_hdf5() also another range and values that fail their checksum. If it throws, part
// of the dataset may have been overwritten.
template <class T>
void read_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name, const Range& range) {
  detail::read_hdf5(path, dataset.engine(), dataset.id(), name, range);
}
template <class T>
void read_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name) {
  read_hdf5(path, dataset, name, dataset.range());
}

// Checkpoint of all datasets of a context and of named numbers, such as step and time.
//
// The file is written as PATH.part in the same folder and renamed once it is on disk. So after a crash, a full
// disk or SIGKILL the file is the last complete checkpoint; while one is written the disk needs space for two.
// It is an HDF5 file with one group for each block.
class TERRACE_STENCIL_PUBLIC Checkpoint {
 public:
  // Requires from now on that kept datasets of the context have distinct names, block and dataset together;
  // refuses duplicates here or when they are created. Temporary datasets are not stored and need no names.
  explicit Checkpoint(Context& context) : engine_(&context.engine()) { detail::keep_names_apart(*engine_); }

  template <std::integral T>
  void set(const std::string& name, T number) {
    numbers_[name] = static_cast<std::int64_t>(number);
  }
  template <std::floating_point T>
  void set(const std::string& name, T number) {
    numbers_[name] = static_cast<double>(number);
  }
  // Returns a named number. Throws Error{not_found}, which lists the known names, if the file has no
  // number of that name and kind.
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;

  void write(const std::string& path) const;
  // Restores all datasets, and replaces the named numbers by those of the file. Throws Error{not_found} if the
  // file does not exist, {corrupt} if it is damaged, {invalid} if its datasets differ from the context's in
  // name, range or type. If it throws, datasets are unchanged, except when values themselves are damaged: then
  // some may be overwritten.
  void restore(const std::string& path);

 private:
  Engine* engine_;
  std::map<std::string, std::variant<std::int64_t, double>> numbers_;
};

// Write and restore without named numbers.
inline void save(Context& context, const std::string& path) { Checkpoint(context).write(path); }
inline void restore(Context& context, const std::string& path) { Checkpoint(context).restore(path); }

}  // namespace terrace::stencil
