// SPDX-License-Identifier: Apache-2.0
// Reads hints files (--hints FILE: facts on a program that are known before it is profiled) and assignments of
// --define, for the launcher and the Python bindings. See hints_file.hpp.
#include "strategy/files/hints_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "core/error.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::strategy {
namespace {

using machine::TomlTable;

constexpr std::size_t k_max_name = 1000;

// Rejects control characters in a name, which would break the lines of messages.
void check_name(const TomlTable& table, std::string_view key, const std::string& name, const char* what) {
  if (name.empty()) table.refuse(key, std::string("the name of ") + what + " is empty");
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.size() > k_max_name || std::ranges::any_of(name, is_control))
    table.refuse(key, std::string("this is not the name of ") + what +
                          "; `terrace show` prints the names, up to 1000 characters in one line");
}

double get_value(const TomlTable& table, std::string_view name) {
  if (!is_value_name(name))
    table.refuse(name,
                 "this is no name of a value; use letters, digits, _ and ., no digit first, and neither min, "
                 "max, ceil nor bytes");
  if (table.holds_number(name)) return table.number(name, -1e300);
  try {
    return parse_constant(table.text(name));
  } catch (const Error& error) {
    table.refuse(name, error.what());
  }
}

ReferenceCount get_count(const TomlTable& table, const std::string& object) {
  check_name(table, object, object, "an object");
  if (table.holds_table(object))
    table.refuse(object,
                 "a table stands where an expression belongs; a name with a point takes quotes: "
                 "\"fields_.u\" = \"2*nnz\"");
  try {
    return {object, Expression::parse(table.text_or_whole_number(object))};
  } catch (const Error& error) {
    table.refuse(object, error.what());
  }
}

void add_directives(const TomlTable& table, std::vector<model::Directive>& directives) {
  table.allow_only({"name", "uses", "spares"});
  const auto phase = table.text("name");
  check_name(table, "name", phase, "a phase");
  if (!table.has("uses") && !table.has("spares"))
    table.refuse("name", "nothing is said of this phase; add uses = [\"an object\"] or spares = [...]");
  std::set<std::string> of_phase;
  for (const bool used : {true, false}) {
    const auto* const key = used ? "uses" : "spares";
    if (!table.has(key)) continue;
    for (const auto& object : table.texts(key)) {
      check_name(table, key, object, "an object");
      if (!of_phase.insert(object).second)
        table.refuse(key,
                     "'" + object.substr(0, 60) + "' stands there twice; a phase uses an object or spares it");
      directives.push_back({phase, object, used});
    }
  }
}

Hints get_hints(const TomlTable& table) {
  table.allow_only({"values", "refs", "phase"});
  Hints hints;
  if (table.has("values")) {
    const auto values = table.table("values");
    for (const auto& name : values.keys()) hints.values[name] = get_value(values, name);
  }
  if (table.has("refs")) {
    const auto counts = table.table("refs");
    for (const auto& object : counts.keys()) hints.counts.push_back(get_count(counts, object));
  }
  std::vector<model::Directive> directives;
  for (const auto& entry : table.entries("phase")) add_directives(entry, directives);
  hints.directives = model::Directives(std::move(directives));
  return hints;
}

}  // namespace

Hints parse_hints(std::string_view text, const std::string& file_name) {
  try {
    const auto table = toml::parse(text, file_name);
    return get_hints(TomlTable(table, file_name, ""));
  } catch (const toml::parse_error& error) {
    machine::throw_parse_error(error, file_name);
  }
}

Hints read_hints_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(Code::not_found, path.string() +
                                     ": there is no such hints file; write one, with [values], [refs] "
                                     "or [[phase]] in it");
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Code::invalid, path.string() + ": is a folder, and no hints file; give --hints a TOML file");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(Code::failed, path.string() + ": cannot be read: " + std::strerror(errno));
  return parse_hints(text.str(), path.string());
}

void apply_assignments(Hints& hints, const std::vector<std::string>& assignments) {
  std::set<std::string> given;
  for (const auto& text : assignments) {
    const auto refuse = [&](const std::string& why) {
      throw Error(Code::invalid, "--define " + text + (": " + why));
    };
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    if (equals == std::string::npos) refuse("there is no '='; write for example niter=75");
    if (!is_value_name(name))
      refuse("'" + name + "' is no name of a value; use letters, digits, _ and ., no digit first");
    if (!given.insert(name).second) refuse("'" + name + "' was given before; give it once");
    try {
      hints.values[name] = parse_constant(text.substr(equals + 1));
    } catch (const Error& error) {
      refuse(error.what());
    }
  }
}

}  // namespace terrace::strategy
