// SPDX-License-Identifier: Apache-2.0
// Implements `terrace --names KIND`: prints the values that an option accepts, one on each line. Shell completions
// call it while the user types, so that later machine files and planners are offered as well.
#pragma once

#include <string_view>

namespace terrace::cli {

// Prints the names. Returns the exit status. Throws Error{invalid} for an unknown kind.
int print_names(std::string_view kind);

}  // namespace terrace::cli
