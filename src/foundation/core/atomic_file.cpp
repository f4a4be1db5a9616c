// SPDX-License-Identifier: Apache-2.0
// Writes a file atomically: to a temporary file first, then by rename(2). The command line writes machine files,
// plans and metrics so. See atomic_file.hpp.
#include "core/atomic_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/size_signal.hpp"

namespace terrace {

namespace fs = std::filesystem;

namespace {

// Overwrites the file, not atomically. Returns "" or the system's error message.
std::string overwrite_file(const fs::path& path, std::string_view content) {
  const ScopedSigxfszBlock without;
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file ? std::string() : std::strerror(errno != 0 ? errno : EIO);
}

}  // namespace

std::string write_file_atomically(const fs::path& path, std::string_view content) {
  std::error_code problem;
  const auto status = fs::status(path, problem);
  if (fs::exists(status) && !fs::is_regular_file(status)) return overwrite_file(path, content);
  // Replace the target of a symbolic link, not the link.
  const auto target = fs::exists(status) ? fs::canonical(path, problem) : path;
  const auto temporary = target.string() + "." + std::to_string(::getpid()) + ".part";
  auto failed = overwrite_file(temporary, content);
  if (failed.empty()) {
    fs::rename(temporary, target, problem);
    if (problem) failed = problem.message();
  }
  if (!failed.empty()) fs::remove(temporary, problem);
  return failed;
}

}  // namespace terrace
