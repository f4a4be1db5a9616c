// From what the user asked for to the session that the library inside the program reads: machines loaded and
// checked, caches resized, budgets parsed, plans read, constants of the model measured.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// `unknown_phases`: of --phases, what no function of the program is called, as far as its functions are known.
runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& unknown_phases);

}  // namespace terrace::cli
