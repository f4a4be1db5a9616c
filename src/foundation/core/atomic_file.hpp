// SPDX-License-Identifier: Apache-2.0
// Writes files atomically: after a failure or crash, the file has either its old or its new content. The command
// line writes machine files, plans and metrics by it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace terrace {

// Writes a temporary file in the same folder and renames it to `path`. Writes to a device, such as /dev/stdout,
// directly. Returns "" on success, else the system's error message; the old content is then unchanged.
std::string write_file_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace terrace
