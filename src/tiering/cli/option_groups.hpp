// SPDX-License-Identifier: Apache-2.0
// Declares the options of `terrace record`, `run`, `simulate` and `replay` in CLI11, by groups of the help: the
// common ones first, then those of one purpose each. parse_launch() (options.hpp) calls it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace terrace::cli {

// Values that are checked after all options are parsed.
struct UncheckedOptions {
  std::optional<std::uint32_t> every;       // --every
  std::vector<std::string> configurations;  // --config, each a text of key=value words
};

// Adds the options of `options.subcommand` to `app`. Parsing writes their values into `options` and `unchecked`,
// which must outlive `app`.
//
// An option that is renamed keeps its earlier spelling as a further long name ("--watermark,--mark"): the help
// lists the first one only (HelpFormatter).
void add_launch_options(CLI::App& app, LaunchOptions& options, UncheckedOptions& unchecked);

}  // namespace terrace::cli
