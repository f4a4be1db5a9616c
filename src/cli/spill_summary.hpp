// What became of memory over a file, for the user.
#pragma once

#include <filesystem>

#include "runtime/session/session.hpp"

namespace terrace::cli {

// Prints a line for each process that had more data than memory, from the counts in the folder.
void tell_of_spill(const std::filesystem::path& folder, const runtime::SpillSpec& spec, bool quiet);

}  // namespace terrace::cli
