// From what the user asked for to the session that the library inside the program reads: machines loaded and
// checked, caches resized, budgets parsed, plans read, constants of the model measured.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// `unknown_names`: sentences about names of --phases and --loop that nothing in the program is called, as far as
// its code is known.
runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& unknown_names);

}  // namespace terrace::cli
