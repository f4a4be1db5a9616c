// SPDX-License-Identifier: Apache-2.0
// Finds and executes, for main(), the analysis subcommands, which are modules of the Python package: lists the
// folder of the package, so that a new module needs no change here. See launch.hpp.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "cli/launch.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Returns PREFIX/lib/python3.N/site-packages/terrace/verbs, where PREFIX/bin has the interpreter, or the launcher
// if the interpreter is found by PATH; empty if there is no such folder.
fs::path subcommands_folder() {
  std::error_code ignored;
  const auto python = fs::path(python_command()).parent_path().parent_path();
  const auto prefix = python.empty() ? fs::path(prefix_path()) : python;
  for (const auto* lib : {"lib", "lib64"})
    for (const auto& version : fs::directory_iterator(prefix / lib, ignored))
      for (const auto* packages : {"site-packages", "dist-packages"}) {
        auto folder = version.path() / packages / "terrace" / "verbs";
        if (fs::is_directory(folder, ignored)) return folder;
      }
  return {};
}

// Returns the first line of a module's docstring after the subcommand's name, as in """`terrace show`: objects and
// phases.""".
std::string first_line(const fs::path& module) {
  std::ifstream file(module);
  std::string line;
  while (std::getline(file, line) && line.starts_with('#')) {
  }
  const auto name = line.find("`: ");
  line.erase(0, name == std::string::npos ? line.size() : name + 3);
  line.erase(std::min(line.find("\"\"\""), line.size()));
  if (line.ends_with('.')) line.pop_back();
  return line;
}

}  // namespace

std::optional<std::vector<Subcommand>> find_python_subcommands() {
  const auto folder = subcommands_folder();
  if (folder.empty()) return std::nullopt;
  std::vector<Subcommand> subcommands;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto module = entry.is_directory() ? entry.path() / "__init__.py" : entry.path();
    auto name = entry.path().stem().string();
    if (module.extension() != ".py" || name.starts_with("__") || !fs::exists(module)) continue;
    std::replace(name.begin(), name.end(), '_', '-');
    subcommands.push_back({name, first_line(module)});
  }
  std::sort(subcommands.begin(), subcommands.end(),
            [](const Subcommand& a, const Subcommand& b) { return a.name < b.name; });
  return subcommands;
}

void exec_python(int argc, char** argv) {
  auto python = python_command();
  std::vector<std::string> words = {python, "-P", "-m", "terrace"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  throw Error(Code::failed, "cannot start " + python + ": " + std::strerror(errno) +
                                "; name a Python that has the package terrace in TERRACE_PYTHON");
}

}  // namespace terrace::cli
