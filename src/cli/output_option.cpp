// See output_option.hpp.
#include "cli/output_option.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

void check_output(const std::string& output) {
  if (output.empty()) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid, "--output " + output + ": " + why);
  };
  std::error_code ignored;
  if (fs::is_directory(output, ignored) || output.ends_with('/')) refuse("it is a folder; name a file in it");
  const auto parent = fs::path(output).parent_path();
  const auto folder = parent.empty() ? fs::path(".") : parent;
  if (!fs::is_directory(folder, ignored)) refuse("there is no folder " + folder.string());
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("no file can be made in " + folder.string() + ": " + std::strerror(errno));
}

}  // namespace terrace::cli
