// Files that are there whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace terrace {

// Written beside its place and then renamed; a device, as /dev/stdout, is written to and not replaced. Returns
// what the system said where it failed, which leaves what was there; empty where all went well.
std::string write_whole_file(const std::filesystem::path& path, std::string_view content);

}  // namespace terrace
