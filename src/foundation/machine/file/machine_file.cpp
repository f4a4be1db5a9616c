// SPDX-License-Identifier: Apache-2.0
// Reads and writes machine files, and finds shipped ones by name, for the option `--machine` and the Python
// package.
#include "machine/file/machine_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::machine {
namespace fs = std::filesystem;
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string read_text(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw Error(Code::not_found, "machine file '" + path.string() + "' is a folder; name a file");
  }
  const File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) {
    const auto code = errno == ENOENT ? Code::not_found : Code::failed;
    throw Error(code, "machine file '" + path.string() + "' cannot be read: " + std::strerror(errno) +
                          "; name another file, or a shipped machine");
  }
  std::string text;
  char buffer[65536];
  while (const auto n = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, n);
  if (std::ferror(file.get()) != 0) {
    throw Error(Code::failed, "machine file '" + path.string() + "' cannot be read: " + std::strerror(errno) +
                                  "; name another file, or a shipped machine");
  }
  return text;
}

// Returns the folders in which machines are searched by name, in order of preference.
std::vector<fs::path> machine_folders() {
  std::vector<fs::path> folders;
  if (const char* listed = std::getenv("TERRACE_MACHINES")) {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const auto colon = rest.find(':');
      if (colon != 0) folders.emplace_back(rest.substr(0, colon));
      rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    }
  }
  std::error_code failed;
  const auto self = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(self.parent_path().parent_path() / "share/terrace/machines");
  folders.emplace_back(TERRACE_SOURCE_MACHINES);
  return folders;
}

}  // namespace

MachineFile load_machine_file(const fs::path& path) { return parse_machine_file(read_text(path), path.string()); }

void write_machine_file(const fs::path& path, const Machine& machine, const Measurement* measured) {
  const auto failed = write_file_atomically(path, format_machine_file(machine, measured));
  if (!failed.empty())
    throw Error(Code::failed,
                "machine file '" + path.string() + "' cannot be written: " + failed + "; name another");
}

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  for (const auto& folder : machine_folders()) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_machine(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) {
    if (fs::exists(name)) return name;
    throw Error(Code::not_found,
                "there is no machine file '" + name + "'; check the path, or give the name of a shipped machine");
  }
  for (const auto& folder : machine_folders()) {
    auto path = folder / (name + ".toml");
    if (fs::exists(path)) return path;
  }
  if (std::error_code ignored; fs::is_regular_file(name, ignored)) return name;
  const auto names = shipped_machines();
  const auto nearest = nearest_name(name, names);
  std::string all;
  for (const auto& known : names) all += (all.empty() ? "" : ", ") + known;
  throw Error(Code::not_found, "there is no machine '" + name + "'" +
                                   (nearest.empty() ? "; " : "; did you mean '" + nearest + "'? ") +
                                   (all.empty()       ? "set TERRACE_MACHINES to the folder of the machine files"
                                    : nearest.empty() ? "there are " + all + ", or give the path of a file"
                                                      : "There are " + all + ", or give the path of a file"));
}

// Moves the copier of that name to the front, for `--machine NAME@COPIER`.
Machine with_copier(const Machine& machine, const std::string& name) {
  auto parts = machine.parts();
  auto& copiers = parts.copiers;
  if (std::ranges::find(copiers, k_ideal_copier, &CopierPrice::name) == copiers.end())
    copiers.push_back({.name = k_ideal_copier});
  const auto chosen = std::ranges::find(copiers, name, &CopierPrice::name);
  if (chosen == copiers.end()) {
    std::string known;
    for (const auto& copier : copiers) known.append(known.empty() ? "" : ", ").append(copier.name);
    throw Error(Code::not_found, "machine '" + parts.name + "' has no copier '" + name + "'; it has " + known);
  }
  std::rotate(copiers.begin(), chosen, chosen + 1);
  return Machine(std::move(parts));
}

MachineFile load_machine(const std::string& name) {
  const auto at = name.rfind('@');
  if (at == std::string::npos || fs::exists(name)) return load_machine_file(find_machine(name));
  auto file = load_machine_file(find_machine(name.substr(0, at)));
  file.machine = with_copier(file.machine, name.substr(at + 1));
  return file;
}

}  // namespace terrace::machine
