// From what the user asked for to the session that the library inside the program reads: machines loaded and
// checked, caches resized, budgets parsed, plans read, constants of the model measured.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// `sentences`, for whoever started it: names of --phases and --loop that nothing in the program is called, as far
// as its code is known; a plan whose segments begin by something else than it says.
runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& sentences);

}  // namespace terrace::cli
