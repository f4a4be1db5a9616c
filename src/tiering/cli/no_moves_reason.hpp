// Why a run in which a planner could choose has moved nothing.
#pragma once

#include <cstdint>
#include <string>

namespace terrace::cli {

// Of one process of the profile, without a full stop. `fastest`: the place that data goes to first.
std::string reason_for_no_moves(const std::string& path, std::int64_t run, const std::string& fastest);

}  // namespace terrace::cli
