// Finds the unlinked backing file of this process's datasets, to truncate it in tests.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace terrace::stencil::test {

// Truncates it to nothing. Returns false if there is no such file in the folder.
inline bool empty_hidden_file(const std::string& folder) {
  std::error_code ignored;
  const auto within = std::filesystem::canonical(folder, ignored).string() + "/";
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (!target.starts_with(within) || !target.ends_with(" (deleted)")) continue;
    const auto file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) continue;
    const auto is_cut = ftruncate(file, 0) == 0;
    close(file);
    return is_cut;
  }
  return false;
}

}  // namespace terrace::stencil::test
