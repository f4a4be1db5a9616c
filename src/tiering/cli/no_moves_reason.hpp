// SPDX-License-Identifier: Apache-2.0
// Explains why a run with a planner and several kinds of memory moved nothing.
#pragma once

#include <cstdint>
#include <string>

namespace terrace::cli {

// Returns the reason for one process of the profile, as a clause. `fastest`: the name of the fastest place.
std::string reason_for_no_moves(const std::string& path, std::int64_t run, const std::string& fastest);

}  // namespace terrace::cli
