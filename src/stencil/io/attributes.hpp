// SPDX-License-Identifier: Apache-2.0
// Reads and writes numeric attributes of HDF5 objects: the numbers of a checkpoint, the range and checksum of a
// dataset.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "stencil/io/hdf5_file.hpp"

namespace terrace::stencil::io {

using NamedNumber = std::variant<std::int64_t, double>;

// Write an attribute, replacing an existing one. Throw Error{failed}.
void write_integers(const Hdf5File& file, hid_t object, const std::string& name,
                    std::span<const std::int64_t> values);
void write_number(const Hdf5File& file, hid_t object, const std::string& name, const NamedNumber& number);

// Read an attribute. Return nothing if there is none of that name, type and length. Throw Error{corrupt} if it
// is unreadable.
[[nodiscard]] std::optional<std::vector<std::int64_t>> read_integers(const Hdf5File& file, hid_t object,
                                                                     const std::string& name, std::size_t count);
[[nodiscard]] std::optional<NamedNumber> read_number(const Hdf5File& file, hid_t object, const std::string& name);
[[nodiscard]] std::vector<std::string> attribute_names(const Hdf5File& file, hid_t object);

}  // namespace terrace::stencil::io
