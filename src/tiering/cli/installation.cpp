// Finds the other parts of this installation from where the executable is: PREFIX/bin/terrace,
// PREFIX/lib/terrace/libterrace.so, PREFIX/bin/python or PREFIX/lib/terrace/python; in a build tree the paths that
// CMake knew.
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

// Without /proc as it was called; the kernel says that, too.
fs::path executable_folder() {
  std::error_code failed;
  auto path = fs::read_symlink("/proc/self/exe", failed);
  if (failed) path = fs::canonical(reinterpret_cast<const char*>(getauxval(AT_EXECFN)));
  return path.parent_path();
}

}  // namespace

std::string prefix_path() { return executable_folder().parent_path().string(); }

std::string library_path(bool is_followed) {
  const auto here = executable_folder();
  const std::string name = is_followed ? "libterrace.so" : "libterrace_unfollowed.so";
  const std::array candidates = {here / ".." / TERRACE_LIBRARY_FOLDER / name, here / ".." / "agent" / name};
  for (const auto& candidate : candidates)
    if (fs::exists(candidate)) return fs::canonical(candidate).string();
  throw Error(Code::not_found, name + " is not beside " + (here / "terrace").string() + "; install again");
}

std::string python_command() {
  if (const char* given = std::getenv("TERRACE_PYTHON")) return given;
  // Of a virtual environment, or of a distribution's package, which keeps what its own Python lacks to itself.
  const auto here = executable_folder();
  std::error_code ignored;
  for (const auto& interpreter : {here / "python", here / ".." / TERRACE_LIBRARY_FOLDER / "python/bin/python"})
    if (fs::exists(interpreter, ignored)) return interpreter.lexically_normal().string();
  return "python3";
}

}  // namespace terrace::cli
