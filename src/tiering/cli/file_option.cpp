// SPDX-License-Identifier: Apache-2.0
// Checks with access(2) that the files of --output and --gauges can be created. See file_option.hpp.
#include "cli/file_option.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

std::string why_not_writable(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return "there is no folder " + folder.string();
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return "no file can be made in " + folder.string() + ": " + std::strerror(errno);
}

void check_output_file(const std::string& option, const fs::path& file) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid, option + " " + file.string() + ": " + why);
  };
  std::error_code ignored;
  if (fs::is_directory(file, ignored) || !file.has_filename()) refuse("it is a folder; name a file in it");
  const auto parent = file.parent_path();
  if (const auto why = why_not_writable(parent.empty() ? fs::path(".") : parent); !why.empty()) refuse(why);
}

}  // namespace terrace::cli
