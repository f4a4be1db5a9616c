// SPDX-License-Identifier: Apache-2.0
// Checks which options of run, record, simulate and replay exclude each other, and which require another one.
// parse_launch() (options.hpp) calls it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace terrace::cli {

struct ConfigurationOptions;

// Checks the options that were given. Throws Error{invalid} with one line that names two of them and the reason.
void check_conflicts(const CLI::App& app, const std::string& subcommand);

// Checks one configuration in virtual time: --memory excludes planning there, in the options and in --config.
// Throws Error{invalid}.
void check_out_of_core(const ConfigurationOptions& configuration);

}  // namespace terrace::cli
