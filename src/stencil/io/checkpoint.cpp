// SPDX-License-Identifier: Apache-2.0
// Implements Checkpoint: writes all kept datasets and named numbers of a context to an HDF5 file with a seal, and
// restores them. Programs call it; see terrace/stencil/hdf5.hpp.
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "stencil/io/attributes.hpp"
#include "stencil/io/replacement_file.hpp"
#include "stencil/io/stored_dataset.hpp"
#include "terrace/stencil/hdf5.hpp"

namespace terrace::stencil {
namespace {

// Escapes characters that HDF5 reserves: '/' becomes "%2F". An empty name becomes "%".
std::string escaped(std::string_view name) {
  if (name.empty()) return "%";
  if (name == ".") return "%2E";
  constexpr std::string_view k_digits = "0123456789ABCDEF";
  std::string text;
  for (const auto letter : name) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '/' || letter == '%' || code < 0x20)
      text += {'%', k_digits[code >> 4U], k_digits[code & 15U]};
    else
      text += letter;
  }
  return text;
}

// Lists the datasets to store. Throws Error{invalid} if files cannot store one of them. Names are distinct:
// Engine::keep_names_apart().
std::vector<io::Part> parts_of(Engine& engine, const std::string& path) {
  std::vector<io::Part> parts;
  for (DatasetId id = 0; id < engine.datasets(); ++id) {
    const auto& info = engine.info(id);
    if (!info.outlives_chains()) continue;
    auto name = escaped(engine.block_info(info.block).name);
    name.append("/").append(escaped(info.name));
    parts.push_back({engine, id, info.range, std::move(name)});
    io::check_part(path, parts.back());
  }
  return parts;
}

// Refuses a checkpoint with datasets that the program lacks: it is of another program.
void refuse_others(const io::Hdf5File& file, const std::vector<io::Part>& parts) {
  std::set<std::string_view> wanted;
  for (const auto& part : parts) wanted.insert(part.name);
  for (const auto& name : io::stored_names(file))
    if (!wanted.contains(name))
      throw Error(Code::invalid,
                  file.path() + ": the checkpoint has a dataset '" + name +
                      "', which this program does not have: name a file of the same program and size");
}

using Numbers = std::map<std::string, io::NamedNumber>;

// Stores the checkpoint's named numbers as attributes of the root group.
void write_numbers(const io::Hdf5File& file, const Numbers& values) {
  const io::Handle root(H5Gopen2(file.id(), "/", H5P_DEFAULT), H5Gclose);
  for (const auto& [name, number] : values) {
    if (name.empty() || name.find('\0') != std::string::npos)
      throw Error(
          Code::invalid,
          file.path() + ": the name of a number in the checkpoint is empty, or has a zero byte: rename it");
    io::write_number(file, root.get(), name, number);
  }
}

// Reads the named numbers that write_numbers() stored.
Numbers read_numbers(const io::Hdf5File& file) {
  Numbers values;
  const io::Handle root(H5Gopen2(file.id(), "/", H5P_DEFAULT), H5Gclose);
  for (const auto& name : io::attribute_names(file, root.get())) {
    const auto number = io::read_number(file, root.get(), name);
    if (!number) file.fail(Code::corrupt, "the number '" + name + "' cannot be read: name an older checkpoint");
    values[name] = *number;
  }
  return values;
}

template <class T>
T number_named(const Numbers& values, const std::string& name, const char* kind) {
  const auto found = values.find(name);
  if (found != values.end())
    if (const auto* const number = std::get_if<T>(&found->second)) return *number;
  std::string known;
  for (const auto& [other, number] : values)
    known.append(known.empty() ? "'" : ", '")
        .append(other)
        .append(number.index() == 0 ? "' (integer)" : "' (real)");
  throw Error(Code::not_found,
              std::string("the checkpoint has no ") + kind + " number '" + name + "'; it has " +
                  (known.empty() ? "no numbers: set() it before write()" : known + ": request one of these"));
}

}  // namespace

std::int64_t Checkpoint::integer(const std::string& name) const {
  return number_named<std::int64_t>(numbers_, name, "integer");
}

double Checkpoint::real(const std::string& name) const { return number_named<double>(numbers_, name, "real"); }

void Checkpoint::write(const std::string& path) const {
  const auto parts = parts_of(*engine_, path);
  engine_->run();
  const io::Library library;
  io::ReplacementFile draft(path);
  auto hdf5 = io::Hdf5File::make(draft.file(), io::seal_size(parts.size()));
  std::vector<io::Extent> extents;
  extents.reserve(parts.size());
  for (const auto& part : parts) extents.push_back(io::write_part(hdf5, part));
  write_numbers(hdf5, numbers_);
  hdf5.close();
  io::write_seal(draft.file(), std::move(extents));
  draft.commit();
}

void Checkpoint::restore(const std::string& path) {
  const auto parts = parts_of(*engine_, path);
  engine_->run();
  const io::Library library;
  io::File file(path, io::Use::read_complete);
  io::check_seal(file);
  const auto hdf5 = io::Hdf5File::open(file, io::Use::read_complete);
  std::vector<io::StoredDataset> all;
  all.reserve(parts.size());
  for (const auto& part : parts) all.emplace_back(hdf5, part);
  refuse_others(hdf5, parts);
  auto values = read_numbers(hdf5);
  for (std::size_t i = 0; i < parts.size(); ++i) all[i].read(hdf5, parts[i]);
  numbers_ = std::move(values);
}

}  // namespace terrace::stencil
