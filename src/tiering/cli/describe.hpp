// SPDX-License-Identifier: Apache-2.0
// Describes the command line as JSON: `terrace --describe` lists the subcommands, `terrace SUBCOMMAND --describe`
// the options of one (cli/parse.hpp). scripts/command_line_page.py writes docs/reference/command-line.md, the man
// pages and the completions from it, so that an option is stated once. The Python subcommands print the same
// format (python/terrace/describe.py).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::cli {

struct Subcommand;

inline constexpr std::string_view k_describe = "--describe";

// Returns the list of subcommands as a JSON document.
std::string description(const std::vector<Subcommand>& subcommands);

}  // namespace terrace::cli
