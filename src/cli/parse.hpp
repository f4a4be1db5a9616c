// How every small verb reads its words.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "core/error.hpp"

namespace terrace::cli {

// False when help was asked for, and printed. Throws Error{invalid} that names the verb's --help.
inline bool parse_words(CLI::App& app, const std::string& verb, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    throw Error(Code::invalid, std::string(error.what()) + "; see terrace " + verb + " --help");
  }
  return true;
}

}  // namespace terrace::cli
