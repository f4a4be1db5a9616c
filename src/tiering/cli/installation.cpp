// SPDX-License-Identifier: Apache-2.0
// Finds, for the launcher and the Python subcommands, the other parts of this installation relative to the
// executable PREFIX/bin/terrace: PREFIX/lib/terrace/libterrace.so, PREFIX/bin/python or PREFIX/lib/terrace/python;
// in a build tree, the folders beside it. See launch.hpp.
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/launch.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

// Falls back to the path that the kernel passed at exec (AT_EXECFN) if /proc is not mounted.
fs::path executable_folder() {
  std::error_code failed;
  auto path = fs::read_symlink("/proc/self/exe", failed);
  if (failed) path = fs::canonical(reinterpret_cast<const char*>(getauxval(AT_EXECFN)));
  return path.parent_path();
}

// Returns a library of the installation, or of the build tree's folder of the agent.
std::string find_library(const std::string& name, const char* build_folder) {
  const auto here = executable_folder();
  const std::array candidates = {here / ".." / TERRACE_LIBRARY_FOLDER / name,
                                 here / ".." / "agent" / build_folder / name};
  for (const auto& candidate : candidates)
    if (fs::exists(candidate)) return fs::canonical(candidate).string();
  throw Error(Code::not_found,
              name + " was not found relative to " + (here / "terrace").string() + "; install again");
}

}  // namespace

std::string prefix_path() { return executable_folder().parent_path().string(); }

std::string library_path(bool observes_accesses) {
  return find_library(observes_accesses ? "libterrace.so" : "libterrace_unfollowed.so", ".");
}

std::string mpi_library_path() { return find_library("libterrace-mpi.so", "mpi"); }

std::string python_command() {
  if (const char* given = std::getenv("TERRACE_PYTHON")) return given;
  // In a virtual environment, or in a distribution package, which has a private Python environment.
  const auto here = executable_folder();
  std::error_code ignored;
  for (const auto& interpreter : {here / "python", here / ".." / TERRACE_LIBRARY_FOLDER / "python/bin/python"})
    if (fs::exists(interpreter, ignored)) return interpreter.lexically_normal().string();
  return "python3";
}

}  // namespace terrace::cli
