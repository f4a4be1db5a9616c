// SPDX-License-Identifier: Apache-2.0
// Reports programs that ran without the library: those that cannot load it (static ones), and those that never
// did. The launcher prints the lines at the end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/launch.hpp"
#include "cli/options.hpp"
#include "runtime/session/session.hpp"

namespace terrace::cli {

// Returns a line for each finding: the given program never loaded the library although something was asked for or
// it cannot load it; one that it started cannot. `missed`: the result of describe_missed_effect().
std::vector<std::string> find_unobserved_programs(const std::string& program, const char* missed,
                                                  const std::filesystem::path& journals, const ChildExit& ending);

// Returns the effect that an unobserved program misses, as "--intent has no effect on it"; null if no option
// requests one.
const char* describe_missed_effect(const LaunchOptions& options, const runtime::Session& session);

// Returns how the launch ends: as the program, except that a command whose only purpose is a profile fails where
// no process of the program made one.
ChildExit exit_of_launch(const LaunchOptions& options, const std::filesystem::path& journals,
                         const ChildExit& program);

}  // namespace terrace::cli
