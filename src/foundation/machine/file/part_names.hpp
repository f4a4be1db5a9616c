// SPDX-License-Identifier: Apache-2.0
// Maps the names of parts to their indices while a machine file is read, and reads [measured] by them. Used by the
// parser of machine files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Indices of one kind of part ("place") by name. Throws Error{invalid} for a duplicate or unknown name.
class NameIndex {
 public:
  explicit NameIndex(const char* what) : what_(what) {}
  void add(const TomlTable& table, std::string_view key, const std::string& name);
  [[nodiscard]] std::uint16_t find(const TomlTable& table, std::string_view key) const;

 private:
  const char* what_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_;
};

// Reads [measured] without the fingerprint, which belongs to the machine.
struct PartNameIndices {
  const NameIndex& initiators;
  const NameIndex& places;
  const NameIndex& copiers;
};
Measurement read_measurement(const TomlTable& table, const PartNameIndices& names);

}  // namespace terrace::machine
