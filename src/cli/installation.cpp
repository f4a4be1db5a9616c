// Finds the other parts of this installation from where the executable is: PREFIX/bin/terrace,
// PREFIX/lib/terrace/libterrace.so, PREFIX/bin/python; in a build tree the paths that CMake knew.
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

fs::path executable_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

}  // namespace

std::string library_path() {
  const auto here = executable_folder();
  const std::array candidates = {here / ".." / TERRACE_LIBRARY_FOLDER / "libterrace.so",
                                 here / ".." / "agent" / "libterrace.so"};
  for (const auto& candidate : candidates)
    if (fs::exists(candidate)) return fs::canonical(candidate).string();
  throw Error(Code::not_found, "libterrace.so is not beside " + (here / "terrace").string() + "; install again");
}

std::string python_command() {
  if (const char* given = std::getenv("TERRACE_PYTHON")) return given;
  const auto beside = executable_folder() / "python";
  std::error_code ignored;
  return fs::exists(beside, ignored) ? beside.string() : "python3";
}

}  // namespace terrace::cli
