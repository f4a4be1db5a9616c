// SPDX-License-Identifier: Apache-2.0
// Opens, creates and closes HDF5 files through Terrace's file driver, and turns HDF5's error stack into one line.
// Used by checkpoints and by the copies of single datasets.
#include "stencil/io/hdf5_file.hpp"

#include <algorithm>

#include "stencil/io/hdf5_driver.hpp"

namespace terrace::stencil::io {
namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Callback of H5Ewalk2: copies the first error's text and stops.
herr_t take_first(unsigned /*number*/, const H5E_error2_t* error, void* text) {
  *static_cast<std::string*>(text) = error->desc ? error->desc : "";
  return 1;
}

}  // namespace

Library::Library() : lock_(library_mutex()) {
  H5open();
  H5Eget_auto2(H5E_DEFAULT, &print_, &with_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Library::~Library() { H5Eset_auto2(H5E_DEFAULT, print_, with_); }

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_first, &text);
  std::ranges::replace(text, '\n', ' ');
  return text.empty() ? "HDF5 gives no reason" : "HDF5: " + text;
}

Hdf5File::Hdf5File(File& file, std::uint64_t user_block, bool is_made, Use use)
    : file_(&file), driver_(register_driver(), H5FDunregister) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  // The oldest format with checksums of all metadata. It has no consistency flag of files being written either,
  // which a killed program would leave set.
  if (!driver_ || H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0 ||
      H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) < 0 ||
      H5Pset_userblock(creation.get(), user_block) < 0 || use_driver(access.get(), driver_.get(), file) < 0)
    fail(Code::failed, "HDF5 cannot be set up: run with HDF5 1.10.2 or newer");
  const auto* const name = file.path().c_str();
  id_ = Handle(is_made ? H5Fcreate(name, H5F_ACC_TRUNC, creation.get(), access.get())
                       : H5Fopen(name, use == Use::change ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access.get()),
               H5Fclose);
  if (!id_)
    fail(is_made ? Code::failed : Code::corrupt, "the file cannot be opened as an HDF5 file: name another file");
}

Hdf5File::~Hdf5File() {
  if (id_) file_->abandon();
}

Hdf5File Hdf5File::make(File& file, std::uint64_t user_block) { return {file, user_block, true, Use::change}; }
Hdf5File Hdf5File::open(File& file, Use use) { return {file, 0, false, use}; }

void Hdf5File::close() {
  need(id_.reset(), "the file cannot be closed: name another file");
  file_->check();
}

void Hdf5File::fail(Code code, const std::string& what) const {
  const auto reason = hdf5_reason();
  file_->check();
  throw Error(code, path() + ": " + what + " (" + reason + ")");
}

}  // namespace terrace::stencil::io
