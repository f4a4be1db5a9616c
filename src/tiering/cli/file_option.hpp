// Files that options name, looked at before the program runs: it may take hours.
#pragma once

#include <filesystem>
#include <string>

namespace terrace::cli {

// Why no file can be made in the folder; "" where one can.
std::string why_not_writable(const std::filesystem::path& folder);

// Refuses, with Error{invalid}, a file that cannot be made, as its folder is not there or may not be written.
void check_output_file(const std::string& option, const std::filesystem::path& file);

}  // namespace terrace::cli
