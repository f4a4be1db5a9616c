// The names of a machine file's parts while it is read, and what of the file needs them alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine/file/machine_file.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::machine {

// Of one kind of part ("place") with their indices; complains about a second use and about a name that nobody has.
class Names {
 public:
  explicit Names(const char* what) : what_(what) {}
  void add(const TomlTable& table, std::string_view key, const std::string& name);
  [[nodiscard]] std::uint16_t find(const TomlTable& table, std::string_view key) const;

 private:
  const char* what_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_;
};

// [measured], but for the fingerprint, which is the machine's.
struct MeasuredNames {
  const Names& initiators;
  const Names& places;
  const Names& copiers;
};
Measurement read_measurement(const TomlTable& table, const MeasuredNames& names);

}  // namespace terrace::machine
