// SPDX-License-Identifier: Apache-2.0
// Checks output files that options (--output, --gauges) name before the program runs, which may take hours.
#pragma once

#include <filesystem>
#include <string>

namespace terrace::cli {

// Returns why no file can be created in the folder; "" if one can.
std::string why_not_writable(const std::filesystem::path& folder);

// Throws Error{invalid} if `file` cannot be created, because its folder does not exist or is not writable.
void check_output_file(const std::string& option, const std::filesystem::path& file);

}  // namespace terrace::cli
