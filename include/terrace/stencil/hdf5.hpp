// SPDX-License-Identifier: Apache-2.0
// Datasets in HDF5 files, and checkpoints of all datasets of a context. Link with terrace_stencil_hdf5.
//
//   Checkpoint checkpoint(context);
//   checkpoint.set("step", step);
//   checkpoint.write("state.h5");
//   ...
//   checkpoint.restore("state.h5");
//   step = checkpoint.integer("step");
//
// Numbers are copied in pieces of at most 32 MiB, so datasets may be larger than memory. What waits runs first.
// Numbers are double, float, std::int64_t or std::int32_t; datasets with elements of other types are refused.
// Lines and reductions are not in files. All that is thrown is terrace::Error (a std::runtime_error), one line
// that begins with the file's name; or, of two datasets that no file could tell apart, with their name.
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

// Writes a range of the dataset to the file, under a name ("u", "after/u": groups are made), with x as the last
// dimension. The file is made where there is none. A dataset of that name that is there already is overwritten if
// it has the same type and range, else refused. The other datasets of the file are kept; a crash while it is
// written may damage it, unlike a checkpoint.
template <class T>
void write_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name, const Range& range) {
  detail::write_hdf5(path, dataset.engine(), dataset.id(), name, range);
}
template <class T>
void write_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name) {
  write_hdf5(path, dataset, name, dataset.range());
}

// Reads it back, or what another program wrote, in whatever layout and byte order. Refused is one of another type
// or size; of our own, of another range, too, and numbers that are not those that were written. Where it throws,
// the dataset may have some of the file's numbers.
template <class T>
void read_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name, const Range& range) {
  detail::read_hdf5(path, dataset.engine(), dataset.id(), name, range);
}
template <class T>
void read_hdf5(const std::string& path, const Dataset<T>& dataset, const std::string& name) {
  read_hdf5(path, dataset, name, dataset.range());
}

// All datasets of a context, and numbers that a program gives names, as its step and time.
//
// The file is written under the name PATH.part, in the same folder, and renamed when all of it is on the disk. So
// whatever happens (a crash, a full disk, SIGKILL), the file is the last checkpoint that was complete; while one
// is written there is room for two on the disk. It is an HDF5 file, with one group for each block.
class TERRACE_STENCIL_PUBLIC Checkpoint {
 public:
  // From now on two datasets of the context that no file could tell apart, of one name in blocks of one name, are
  // refused when the second is made; or here, where both are there. Temporary ones have no names in files.
  explicit Checkpoint(Context& context) : engine_(&context.engine()) { detail::keep_names_apart(*engine_); }

  template <std::integral T>
  void set(const std::string& name, T number) {
    numbers_[name] = static_cast<std::int64_t>(number);
  }
  template <std::floating_point T>
  void set(const std::string& name, T number) {
    numbers_[name] = static_cast<double>(number);
  }
  // Throws Error{not_found} where there is none of that name and kind, naming those that there are.
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] double real(const std::string& name) const;

  void write(const std::string& path) const;
  // Sets all datasets, and the named numbers: those of the file and no others. Throws Error{not_found} where there
  // is no such file, {corrupt} where it is damaged, {invalid} where it has other datasets than the context, or of
  // another range or type. Datasets are as they were where it throws, but for damage to the numbers themselves:
  // then they may have some of the file's.
  void restore(const std::string& path);

 private:
  Engine* engine_;
  std::map<std::string, std::variant<std::int64_t, double>> numbers_;
};

// The same, without named numbers.
inline void save(Context& context, const std::string& path) { Checkpoint(context).write(path); }
inline void restore(Context& context, const std::string& path) { Checkpoint(context).restore(path); }

}  // namespace terrace::stencil
