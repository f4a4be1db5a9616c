// SPDX-License-Identifier: Apache-2.0
// Implements the callbacks of an HDF5 virtual file driver over io::File. Terrace has a driver of its own because
// HDF5's cannot close a file after a failed write, loses the system's error, and opens external links. See
// hdf5_driver.hpp.
#include "stencil/io/hdf5_driver.hpp"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#include <algorithm>
#include <limits>
#include <new>
#include <string>

namespace terrace::stencil::io {
namespace {

// Driver data of a property list.
struct Info {
  File* file;
};

// Driver state of an open file.
struct Opened {
  H5FD_t about;  // HDF5's base class
  File* file;
  haddr_t end_of_addresses;
  haddr_t end_of_file;
};

Opened& opened(H5FD_t* file) { return *reinterpret_cast<Opened*>(file); }
const Opened& opened(const H5FD_t* file) { return *reinterpret_cast<const Opened*>(file); }

constexpr haddr_t k_max = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());

// Callback by which HDF5 opens a file: returns the io::File of the property list.
H5FD_t* open_file(const char* name, unsigned /*flags*/, hid_t file_access, haddr_t /*most*/) {
  const auto* const info = static_cast<const Info*>(H5Pget_driver_info(file_access));
  // External links are opened here, too: refuse them.
  if (!info || info->file->path() != name) return nullptr;
  auto* const made = new (std::nothrow) Opened{};
  if (!made) return nullptr;
  made->file = info->file;
  made->end_of_file = info->file->size();
  return &made->about;
}

herr_t close_file(H5FD_t* file) {
  delete &opened(file);
  return 0;
}

int compare(const H5FD_t* a, const H5FD_t* b) {
  const auto *const first = opened(a).file, *const second = opened(b).file;
  return first == second ? 0 : first < second ? -1 : 1;
}

herr_t query(const H5FD_t* /*file*/, unsigned long* flags) {
  if (flags)
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t /*type*/) { return opened(file).end_of_addresses; }

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t end) {
  opened(file).end_of_addresses = end;
  return 0;
}

haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t /*type*/) { return opened(file).end_of_file; }

herr_t read(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, std::size_t bytes, void* to) {
  const auto end = opened(file).end_of_addresses;
  if (address > end || bytes > end - address) return -1;
  return opened(file).file->read(address, to, bytes) ? 0 : -1;
}

herr_t write(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address, std::size_t bytes,
             const void* from) {
  auto& about = opened(file);
  if (address > about.end_of_addresses || bytes > about.end_of_addresses - address) return -1;
  about.file->write(address, from, bytes);
  about.end_of_file = std::max<haddr_t>(about.end_of_file, address + bytes);
  return 0;
}

// Truncate the file to its address space.
herr_t truncate(H5FD_t* file, hid_t /*transfer*/, hbool_t /*is_closing*/) {
  auto& about = opened(file);
  if (about.end_of_addresses != about.end_of_file) about.file->resize(about.end_of_addresses);
  about.end_of_file = about.end_of_addresses;
  return 0;
}

// Fills in the table of callbacks by which HDF5 knows a driver.
H5FD_class_t make_class() {
  H5FD_class_t made{};
#if H5_VERSION_GE(1, 14, 0)
  made.version = H5FD_CLASS_VERSION;
  made.value = static_cast<H5FD_class_value_t>(512);  // values >= 512 are reserved for tests and applications
#endif
  made.name = "terrace";
  made.maxaddr = k_max;
  made.fc_degree = H5F_CLOSE_STRONG;
  made.fapl_size = sizeof(Info);
  made.open = open_file;
  made.close = close_file;
  made.cmp = compare;
  made.query = query;
  made.get_eoa = end_of_addresses;
  made.set_eoa = set_end_of_addresses;
  made.get_eof = end_of_file;
  made.read = read;
  made.write = write;
  made.truncate = truncate;
  const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kinds), std::end(kinds), made.fl_map);
  return made;
}

}  // namespace

hid_t register_driver() {
  static const auto driver = make_class();
  return H5FDregister(&driver);
}

herr_t use_driver(hid_t file_access, hid_t driver, File& file) {
  const Info info{&file};
  return H5Pset_driver(file_access, driver, &info);
}

}  // namespace terrace::stencil::io
