// SPDX-License-Identifier: Apache-2.0
// Reads the tables of MPI objects, and finds the shipped ones. See mpi_objects_file.hpp.
#include "strategy/files/mpi_objects_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "machine/file/toml_table.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::strategy {
namespace {

namespace fs = std::filesystem;
using machine::TomlTable;

constexpr std::size_t k_max_text = 1000;
constexpr std::int64_t k_max_message = std::int64_t{1} << 40;

void check_text(const TomlTable& table, std::string_view key, const std::string& text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (text.empty() || text.size() > k_max_text || std::ranges::any_of(text, is_control))
    table.refuse(key, "a text here has from 1 to 1000 characters, in one line");
}

// Reads a text, or an array of texts.
std::vector<std::string> texts_of(const TomlTable& table, std::string_view key) {
  std::vector<std::string> texts;
  if (table.holds_texts(key))
    texts = table.texts(key);
  else
    texts.push_back(table.text(key));
  if (texts.empty()) table.refuse(key, "the array is empty; name one at least");
  for (const auto& text : texts) check_text(table, key, text);
  return texts;
}

Expression parsed(const TomlTable& table, std::string_view key) {
  try {
    return Expression::parse(table.text_or_whole_number(key));
  } catch (const Error& error) {
    table.refuse(key, error.what());
  }
}

std::optional<Expression> formula_of(const TomlTable& table, std::string_view key) {
  if (!table.has(key)) return std::nullopt;
  if (!table.holds_number(key)) check_text(table, key, table.text(key));
  auto formula = parsed(table, key);
  static const std::vector<std::string> known{"N", "P", "size", "total", "rounded"};
  for (const auto& name : formula.names())
    if (std::ranges::find(known, name) == known.end())
      table.refuse(key, "'" + name.substr(0, 60) + "' is no quantity of MPI; use N, P, size, total or rounded");
  if (!formula.objects().empty()) table.refuse(key, "bytes() has no meaning here; use size, total or rounded");
  return formula;
}

// Reads one of several words; `find` returns its value.
template <class Find>
auto word_of(const TomlTable& table, std::string_view key, const std::vector<std::string>& words, Find find) {
  const auto word = table.name(key);
  if (const auto value = find(word)) return *value;
  std::string all;
  for (const auto& known : words) all += (all.empty() ? "" : ", ") + known;
  const auto nearest = machine::nearest_name(word, words);
  table.refuse(key, "'" + word + "' is not known; " +
                        (nearest.empty() ? "there are " + all : "did you mean '" + nearest + "'?"));
}

MpiObject object_of(const TomlTable& table) {
  table.allow_only({"name", "kind", "mapping", "inside", "size", "count", "header", "slice", "max_message",
                    "created", "touched", "touched_by", "bind"});
  MpiObject object;
  object.name = table.text("name");
  check_text(table, "name", object.name);
  object.kind = word_of(table, "kind",
                        {"eager", "cells", "copy_buffers", "pools", "fifos", "windows", "alloc_mem", "control"},
                        mpi_object_kind);
  object.mappings = texts_of(table, "mapping");
  if (table.has("inside")) object.functions = texts_of(table, "inside");
  object.size = formula_of(table, "size");
  object.count = formula_of(table, "count");
  object.header = formula_of(table, "header");
  object.slice = formula_of(table, "slice");
  if (table.has("max_message"))
    object.max_message = static_cast<std::uint64_t>(table.integer("max_message", 0, k_max_message));
  object.created =
      word_of(table, "created", {"init", "window", "alloc_mem", "connection", "collective"}, mpi_object_creation);
  if (table.has("touched")) object.touched = word_of(table, "touched", {"before", "inside", "later"}, mpi_touch);
  if (table.has("touched_by"))
    object.touched_by = word_of(table, "touched_by", {"owner", "peer", "program"}, mpi_toucher);
  if (table.has("bind")) object.may_bind = table.flag("bind");
  if (object.may_bind && object.kind == MpiObjectKind::control)
    table.refuse("bind", "control blocks stay where they are; remove this key");
  if (object.may_bind && !object.size)
    table.refuse("bind", "an object that may be bound needs its size, by which it is told from others; add size");
  return object;
}

MpiObjectTable table_of(const TomlTable& whole) {
  whole.allow_only({"library", "object"});
  const auto library = whole.table("library");
  library.allow_only({"name", "version", "file", "checked"});
  MpiObjectTable table;
  table.library = library.text("name");
  check_text(library, "name", table.library);
  table.versions = texts_of(library, "version");
  table.files = texts_of(library, "file");
  if (library.has("checked")) table.checked = texts_of(library, "checked");
  std::set<std::string> names;
  for (const auto& entry : whole.entries("object")) {
    table.objects.push_back(object_of(entry));
    if (!names.insert(table.objects.back().name).second)
      entry.refuse("name", "another object has this name; give each its own");
  }
  if (table.objects.empty()) whole.refuse("object", "there is no object; begin each with [[object]]");
  return table;
}

std::vector<fs::path> table_folders() {
  std::vector<fs::path> folders;
  if (const char* given = std::getenv("TERRACE_MPI_OBJECTS"); given && *given) folders.emplace_back(given);
  std::error_code failed;
  const auto self = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(self.parent_path().parent_path() / "share/terrace/mpi_objects");
  folders.emplace_back(TERRACE_SOURCE_MPI_OBJECTS);
  return folders;
}

}  // namespace

MpiObjectTable parse_mpi_objects(std::string_view text, const std::string& file_name) {
  try {
    const auto table = toml::parse(text, file_name);
    return table_of(TomlTable(table, file_name, ""));
  } catch (const toml::parse_error& error) {
    machine::throw_parse_error(error, file_name);
  }
}

MpiObjectTable read_mpi_objects_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw Error(Code::not_found, path.string() + ": there is no such table of MPI objects; check the path");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(Code::failed, path.string() + ": cannot be read: " + std::strerror(errno));
  return parse_mpi_objects(text.str(), path.string());
}

std::vector<MpiObjectTable> shipped_mpi_objects() {
  const char* const given = std::getenv("TERRACE_MPI_OBJECTS");
  for (const auto& folder : table_folders()) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed))
      if (entry.path().extension() == ".toml") files.push_back(entry.path());
    if (files.empty() && given && *given)
      throw Error(Code::invalid,
                  "TERRACE_MPI_OBJECTS=" + std::string(given) + ": the folder has no table (*.toml)");
    if (files.empty()) continue;
    std::ranges::sort(files);
    std::vector<MpiObjectTable> tables;
    for (const auto& file : files) tables.push_back(read_mpi_objects_file(file));
    return tables;
  }
  return {};
}

}  // namespace terrace::strategy
