// SPDX-License-Identifier: Apache-2.0
// Implements `terrace --version`.
#pragma once

#include <string>

namespace terrace::cli {

// Returns the version, the commit that was built, and what to send with a bug report.
std::string version();

}  // namespace terrace::cli
