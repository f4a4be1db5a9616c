// --output: found out before the run whether the profile can be written there, as the run may take hours.
#pragma once

#include <string>

namespace terrace::cli {

// Throws Error{invalid} where a file of that name cannot be made, or is a folder. "": there is no such option.
void check_output(const std::string& output);

}  // namespace terrace::cli
