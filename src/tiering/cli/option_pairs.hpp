// Which options of a launch exclude each other, and which need another one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace terrace::cli {

struct ConfigurationOptions;

// Of options that were given. Throws Error{invalid}, one line that names two of them and says why.
void check_pairs(const CLI::App& app, const std::string& verb);

// In virtual time a configuration may be made of several places: of the options, and of --config.
void check_over_file(const ConfigurationOptions& configuration);

}  // namespace terrace::cli
