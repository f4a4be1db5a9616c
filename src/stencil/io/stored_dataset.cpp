// SPDX-License-Identifier: Apache-2.0
// Creates, compares, writes and reads a dataset of an HDF5 file, slab by slab, with a checksum of its values. Used
// by checkpoints and by write_hdf5() and read_hdf5().
#include "stencil/io/stored_dataset.hpp"

#include <hdf5.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "stencil/data/slabs.hpp"
#include "stencil/io/attributes.hpp"
#include "stencil/io/checksum.hpp"
#include "terrace/stencil/context.hpp"

namespace terrace::stencil::io {
namespace {

// Maps the library's number types to HDF5 types and their names.
struct Types {
  hid_t little;
  hid_t big;
  hid_t native;
  const char* text;
};

Types types_of(Number number) {
  switch (number) {
    case Number::float64:
      return {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, "float64"};
    case Number::float32:
      return {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, "float32"};
    case Number::int64:
      return {H5T_STD_I64LE, H5T_STD_I64BE, H5T_NATIVE_INT64, "int64"};
    case Number::int32:
      break;
  }
  return {H5T_STD_I32LE, H5T_STD_I32BE, H5T_NATIVE_INT32, "int32"};
}

// Return HDF5's predefined types, which exist once the library is open and must not be closed.
hid_t type_in_file(Number number) { return types_of(number).little; }
hid_t type_in_memory(Number number) { return types_of(number).native; }
// Returns the type's name, as "float64".
std::string name_of(Number number) { return types_of(number).text; }

// Describes an HDF5 type: "float64", "unsigned int8", "text".
std::string text_of_type(hid_t type) {
  const auto bits = std::to_string(8 * H5Tget_size(type));
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return (H5Tget_sign(type) == H5T_SGN_NONE ? "unsigned int" : "int") + bits;
    case H5T_FLOAT:
      return "float" + bits;
    case H5T_STRING:
      return "text";
    default:
      return "a type that is no number";
  }
}

// Returns whether `type` is that number type, in either byte order.
bool is_number(hid_t type, Number number) {
  const auto types = types_of(number);
  return H5Tequal(type, types.little) > 0 || H5Tequal(type, types.big) > 0;
}

constexpr std::uint64_t k_slab_bytes = std::uint64_t{32} << 20U;
constexpr std::size_t k_max_names = 8;  // maximum length in an error text

// Attributes of a dataset: its range, and a checksum of its values.
constexpr auto k_range = "terrace_range";
constexpr auto k_checksum = "terrace_xxh3_64";

using Lengths = std::array<hsize_t, k_max_dims>;  // files order dimensions z first

Lengths lengths_of(const Range& range) {
  return {static_cast<hsize_t>(range.length(2)), static_cast<hsize_t>(range.length(1)),
          static_cast<hsize_t>(range.length(0))};
}

std::string points_text(const Lengths& lengths) {
  return std::to_string(lengths[2]) + " x " + std::to_string(lengths[1]) + " x " + std::to_string(lengths[0]);
}

std::vector<std::int64_t> numbers_of(const Range& range) {
  std::vector<std::int64_t> values(range.begin.begin(), range.begin.end());
  values.insert(values.end(), range.end.begin(), range.end.end());
  return values;
}

Range range_of(const std::vector<std::int64_t>& values) {
  Range range;
  std::copy_n(values.begin(), k_max_dims, range.begin.begin());
  std::copy_n(values.begin() + k_max_dims, k_max_dims, range.end.begin());
  return range;
}

// Returns the dimensions of the dataset in the file: those of the block, or as many as the range extends into.
std::size_t dims_of(const Part& part) {
  auto dims = part.engine.block_info(part.info().block).dims;
  for (std::size_t d = dims; d < k_max_dims; ++d)
    if (part.range.length(d) > 1) dims = d + 1;
  return dims;
}

// Calls action with memory and an HDF5 selection for each slab, in order.
template <class Action>
void for_pieces(const Hdf5File& file, const Part& part, const Handle& space, Action action) {
  const auto dims = static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0));
  const auto element = part.info().element;
  std::vector<std::byte> piece;
  for_slabs(part.range, k_slab_bytes / element, [&](const Range& slab) {
    piece.resize(slab.points() * element);
    auto count = lengths_of(slab);
    Lengths from{};
    for (std::size_t d = 0; d < k_max_dims; ++d)
      from[k_max_dims - 1 - d] = static_cast<hsize_t>(slab.begin[d] - part.range.begin[d]);
    const Handle in_memory(H5Screate_simple(static_cast<int>(dims), &count[k_max_dims - dims], nullptr), H5Sclose);
    if (!in_memory || H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &from[k_max_dims - dims], nullptr,
                                          &count[k_max_dims - dims], nullptr) < 0)
      file.fail(Code::failed, "dataset '" + part.name + "' cannot be copied: name another file");
    action(slab, piece, in_memory);
  });
}

bool is_there(const Hdf5File& file, const std::string& name) {
  // HDF5 looks up the last component of a name only if the others exist.
  for (auto end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1))
    if (end > 0 && H5Lexists(file.id(), name.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  return H5Lexists(file.id(), name.c_str(), H5P_DEFAULT) > 0;
}

// Creates the part's dataset, with its groups, in the file.
Handle make(const Hdf5File& file, const Part& part) {
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const auto dims = dims_of(part);
  const auto lengths = lengths_of(part.range);
  const Handle space(H5Screate_simple(static_cast<int>(dims), &lengths[k_max_dims - dims], nullptr), H5Sclose);
  constexpr auto set_up = "HDF5 cannot be set up: run with HDF5 1.10.2 or newer";
  file.need(H5Pset_create_intermediate_group(links.get(), 1), set_up);
  file.need(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), set_up);
  file.need(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), set_up);
  Handle made(H5Dcreate2(file.id(), part.name.c_str(), type_in_file(*part.info().number), space.get(), links.get(),
                         creation.get(), H5P_DEFAULT),
              H5Dclose);
  if (!made) file.fail(Code::failed, "dataset '" + part.name + "' cannot be created: name another file");
  return made;
}

// Opens the part's dataset; an error names those that the file has.
Handle open(const Hdf5File& file, const Part& part) {
  if (!is_there(file, part.name)) {
    std::string known;
    const auto names = stored_names(file);
    for (std::size_t i = 0; i < std::min(names.size(), k_max_names); ++i)
      known += (known.empty() ? "'" : ", '") + names[i] + "'";
    throw Error(Code::not_found, file.path() + ": the file has no dataset '" + part.name +
                                     "': " + (names.empty() ? "it has none" : "request one of " + known) +
                                     (names.size() > k_max_names ? " and others" : ""));
  }
  Handle found(H5Dopen2(file.id(), part.name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!found) file.fail(Code::corrupt, "'" + part.name + "' cannot be opened as a dataset: request another");
  return found;
}

// Throws Error{invalid} if an existing dataset differs from the part in type, size or range.
void compare(const Hdf5File& file, const Part& part, const Handle& found) {
  const Handle type(H5Dget_type(found.get()), H5Tclose);
  const Handle space(H5Dget_space(found.get()), H5Sclose);
  const auto dims = space ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (!type || dims < 0)
    file.fail(Code::corrupt, "dataset '" + part.name + "' cannot be read: name an older copy");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(dims));
  if (dims > 0 && H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr) < 0)
    file.fail(Code::corrupt, "dataset '" + part.name + "' cannot be read: name an older copy");
  const auto number = *part.info().number;
  const auto refuse = [&](const std::string& has) {
    throw Error(Code::invalid, file.path() + ": the dataset '" + part.name + "' is " + has + ", but " +
                                   name_of(number) + " of " + stencil::text_of(part.range) +
                                   " was requested: name a file of the same program and size");
  };
  if (H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE || lengths.size() > k_max_dims)
    refuse(text_of_type(type.get()) + " of " + std::to_string(dims) + " dimensions");
  Lengths found_lengths{1, 1, 1};
  std::ranges::copy(lengths, found_lengths.end() - dims);
  const auto range = read_integers(file, found.get(), k_range, 2 * k_max_dims);
  const auto agrees = is_number(type.get(), number) && found_lengths == lengths_of(part.range) &&
                      (!range || range_of(*range) == part.range);
  if (agrees) return;
  refuse(text_of_type(type.get()) + " of " +
         (range ? stencil::text_of(range_of(*range)) : points_text(found_lengths) + " points"));
}

// Callback of H5Lvisit: collects the names of all links.
herr_t add_dataset(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

void check_part(const std::string& path, const Part& part) {
  if (!part.info().number)
    throw Error(Code::invalid, path + ": the dataset '" + part.info().name + "' has elements of " +
                                   std::to_string(part.info().element) +
                                   " bytes of a type that files cannot store: use double, float, "
                                   "std::int64_t or std::int32_t");
  const auto& name = part.name;
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find("//") != std::string::npos ||
      name.find('\0') != std::string::npos || name == ".")
    throw Error(Code::invalid, path + ": '" + name +
                                   "' cannot be the name of a dataset in a file: choose one like 'u' or "
                                   "'after/u'");
  if (!part.info().range.contains(part.range) || part.range.empty())
    throw Error(Code::invalid, path + ": dataset '" + part.info().name + "': " + stencil::text_of(part.range) +
                                   " was requested, it has " + stencil::text_of(part.info().range) +
                                   ": request points inside");
}

Extent write_part(const Hdf5File& file, const Part& part) {
  const auto is_new = !is_there(file, part.name);
  const auto stored = is_new ? make(file, part) : open(file, part);
  if (!is_new) compare(file, part, stored);
  const Handle space(H5Dget_space(stored.get()), H5Sclose);
  Checksum checksum;
  for_pieces(file, part, space, [&](const Range& slab, std::vector<std::byte>& piece, const Handle& in_memory) {
    part.engine.get(part.dataset, slab, piece.data());
    checksum.add(piece.data(), piece.size());
    if (H5Dwrite(stored.get(), type_in_memory(*part.info().number), in_memory.get(), space.get(), H5P_DEFAULT,
                 piece.data()) < 0)
      file.fail(Code::failed, "dataset '" + part.name + "' cannot be written: name another file");
    file.file().check();
  });
  // Write the checksum last: if the program ends before, the old checksum does not match the values.
  write_integers(file, stored.get(), k_range, numbers_of(part.range));
  const auto value = std::bit_cast<std::int64_t>(checksum.value());
  write_integers(file, stored.get(), k_checksum, {&value, 1});
  const auto offset = H5Dget_offset(stored.get());
  return {offset == HADDR_UNDEF ? 0 : offset, H5Dget_storage_size(stored.get())};
}

StoredDataset::StoredDataset(const Hdf5File& file, const Part& part) : id_(open(file, part)) {
  compare(file, part, id_);
}

void StoredDataset::read(const Hdf5File& file, const Part& part) const {
  const auto expected = read_integers(file, id_.get(), k_checksum, 1);
  const Handle space(H5Dget_space(id_.get()), H5Sclose);
  Checksum checksum;
  for_pieces(file, part, space, [&](const Range& slab, std::vector<std::byte>& piece, const Handle& in_memory) {
    if (H5Dread(id_.get(), type_in_memory(*part.info().number), in_memory.get(), space.get(), H5P_DEFAULT,
                piece.data()) < 0)
      file.fail(Code::corrupt, "dataset '" + part.name + "' cannot be read: name an older copy");
    checksum.add(piece.data(), piece.size());
    part.engine.set(part.dataset, slab, piece.data());
  });
  if (expected && std::bit_cast<std::uint64_t>(expected->front()) != checksum.value())
    throw Error(
        Code::corrupt,
        file.path() + ": the values of dataset '" + part.name +
            "' differ from those written: the file is damaged, or another program changed them: name an older "
            "copy");
}

std::vector<std::string> stored_names(const Hdf5File& file) {
  std::vector<std::string> links, names;
  if (H5Lvisit(file.id(), H5_INDEX_NAME, H5_ITER_INC, add_dataset, &links) < 0)
    file.fail(Code::corrupt, "its HDF5 groups cannot be read: name an older copy");
  for (const auto& link : links)
    if (const Handle found(H5Dopen2(file.id(), link.c_str(), H5P_DEFAULT), H5Dclose); found) names.push_back(link);
  return names;
}

}  // namespace terrace::stencil::io
