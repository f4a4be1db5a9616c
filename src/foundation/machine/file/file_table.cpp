// SPDX-License-Identifier: Apache-2.0
// Implements file_table.hpp.
#include "machine/file/file_table.hpp"

namespace terrace::machine {

void read_files(const std::vector<TomlTable>& tables, const NameIndex& places, MachineParts& parts) {
  NameIndex names("file");
  for (const auto& table : tables) {
    table.allow_only({"name", "beside", "read", "write", "latency", "requests"});
    BackingFile file;
    file.name = table.name("name");
    names.add(table, "name", file.name);
    file.beside = places.find(table, "beside");
    file.read = table.bandwidth("read");
    file.write = table.bandwidth("write");
    file.latency = table.time("latency");
    file.requests = static_cast<std::uint32_t>(table.integer("requests", 1, k_max_requests));
    for (const auto& place : parts.places)
      if (place.name == file.name)
        table.refuse("name", "a place is called '" + file.name + "'; name it otherwise");
    for (const auto& other : parts.files)
      if (other.beside == file.beside)
        table.refuse("beside",
                     "'" + other.name + "' backs '" + parts.places[file.beside].name + "' already; keep one");
    parts.files.push_back(file);
  }
}

}  // namespace terrace::machine
