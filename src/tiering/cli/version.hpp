// What `terrace --version` says: the version, the commit it was built from, what a report of a fault needs.
#pragma once

#include <string>

namespace terrace::cli {

std::string version();

}  // namespace terrace::cli
