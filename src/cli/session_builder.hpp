// From what the user asked for to the session that the library inside the program reads: machines loaded and
// checked, caches resized, budgets parsed, plans read, constants of the model measured.
#pragma once

#include <string>

#include "cli/options.hpp"
#include "front/session.hpp"

namespace terrace::cli {

front::Session build_session(const LaunchOptions& options, const std::string& directory);

}  // namespace terrace::cli
