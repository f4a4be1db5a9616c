// SPDX-License-Identifier: Apache-2.0
// Writes, finds and reads attributes of HDF5 objects: checkpoints keep their numbers in them, and datasets their
// range and checksum.
#include "stencil/io/attributes.hpp"

namespace terrace::stencil::io {
namespace {

// HDF5 creates its predefined types when it is opened, so look them up at use.
void write(const Hdf5File& file, hid_t object, const std::string& name, hid_t in_file, hid_t in_memory,
           const Handle& space, const void* values) {
  const auto is_there = H5Aexists(object, name.c_str());
  file.need(is_there, "its HDF5 attributes cannot be looked up: name another file");
  if (is_there > 0)
    file.need(H5Adelete(object, name.c_str()), "an HDF5 attribute cannot be replaced: name another file");
  const Handle attribute(H5Acreate2(object, name.c_str(), in_file, space.get(), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  if (!attribute || H5Awrite(attribute.get(), in_memory, values) < 0)
    file.fail(Code::failed, "the HDF5 attribute '" + name + "' cannot be written: name another file");
}

struct Found {
  Handle attribute;
  H5T_class_t kind = H5T_NO_CLASS;
  std::size_t bytes = 0;
  std::size_t count = 0;
};

// Opens an attribute, if the object has it, and queries its type and length.
Found find(const Hdf5File& file, hid_t object, const std::string& name) {
  Found found;
  const auto is_there = H5Aexists(object, name.c_str());
  if (is_there < 0) file.fail(Code::corrupt, "its HDF5 attributes cannot be read: name an older copy");
  if (is_there == 0) return found;
  found.attribute = Handle(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(found.attribute ? H5Aget_type(found.attribute.get()) : -1, H5Tclose);
  const Handle space(found.attribute ? H5Aget_space(found.attribute.get()) : -1, H5Sclose);
  const auto count = space ? H5Sget_simple_extent_npoints(space.get()) : -1;
  if (!type || count < 0)
    file.fail(Code::corrupt, "the HDF5 attribute '" + name + "' cannot be read: name an older copy");
  found.kind = H5Tget_class(type.get());
  found.bytes = H5Tget_size(type.get());
  found.count = static_cast<std::size_t>(count);
  return found;
}

void read(const Hdf5File& file, const Found& found, const std::string& name, hid_t in_memory, void* values) {
  if (H5Aread(found.attribute.get(), in_memory, values) < 0)
    file.fail(Code::corrupt, "the HDF5 attribute '" + name + "' cannot be read: name an older copy");
}

herr_t add_name(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

void write_integers(const Hdf5File& file, hid_t object, const std::string& name,
                    std::span<const std::int64_t> values) {
  const hsize_t count = values.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  write(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space, values.data());
}

void write_number(const Hdf5File& file, hid_t object, const std::string& name, const NamedNumber& number) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  if (const auto* const integer = std::get_if<std::int64_t>(&number))
    write(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space, integer);
  else
    write(file, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, space, &std::get<double>(number));
}

std::optional<std::vector<std::int64_t>> read_integers(const Hdf5File& file, hid_t object, const std::string& name,
                                                       std::size_t count) {
  const auto found = find(file, object, name);
  if (!found.attribute || found.kind != H5T_INTEGER || found.bytes != 8 || found.count != count)
    return std::nullopt;
  std::vector<std::int64_t> values(count);
  read(file, found, name, H5T_NATIVE_INT64, values.data());
  return values;
}

std::optional<NamedNumber> read_number(const Hdf5File& file, hid_t object, const std::string& name) {
  const auto found = find(file, object, name);
  if (!found.attribute || found.bytes != 8 || found.count != 1) return std::nullopt;
  if (found.kind == H5T_INTEGER) {
    std::int64_t number = 0;
    read(file, found, name, H5T_NATIVE_INT64, &number);
    return number;
  }
  if (found.kind != H5T_FLOAT) return std::nullopt;
  double number = 0;
  read(file, found, name, H5T_NATIVE_DOUBLE, &number);
  return number;
}

std::vector<std::string> attribute_names(const Hdf5File& file, hid_t object) {
  std::vector<std::string> names;
  hsize_t from = 0;
  if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &from, add_name, &names) < 0)
    file.fail(Code::corrupt, "its HDF5 attributes cannot be read: name an older copy");
  return names;
}

}  // namespace terrace::stencil::io
