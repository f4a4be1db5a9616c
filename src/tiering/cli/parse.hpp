// SPDX-License-Identifier: Apache-2.0
// Parses the arguments of one subcommand with CLI11, the same for all native subcommands: --help, --describe, and
// errors in the words that the user typed.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/describe.hpp"
#include "core/error.hpp"

namespace terrace::cli {

// Type name of options whose value is forwarded to a program: it may be empty, or look like an option.
inline constexpr const char* k_forwarded_arguments = "ARGUMENTS";

// Returns the names of an option that the help lists: short names, and the first long name. Further long names are
// earlier spellings, which stay accepted.
inline std::vector<std::string> listed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) names.push_back("-" + name);
  if (!option.get_lnames().empty()) names.push_back("--" + option.get_lnames().front());
  return names;
}

// Formats the help: omits earlier spellings of options, and adds the program to the usage line.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(36); }
  [[nodiscard]] std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return CLI::Formatter::make_option_name(option, is_positional);
    return fmt::format("{}", fmt::join(listed_names(*option), ","));
  }
  [[nodiscard]] std::string make_usage(const CLI::App* app, std::string name) const override {
    auto usage = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_prefix_command()) usage.insert(usage.find_last_not_of('\n') + 1, " [--] PROGRAM [ARGUMENTS]");
    return usage;
  }
  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    auto help = CLI::Formatter::make_help(app, std::move(name), mode);
    // The base class writes two blank lines between groups.
    for (auto at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n", at)) help.erase(at, 1);
    return help;
  }
};

// Refuses values that cannot be meant: an empty one (a script's variable that is not set), "--", another option.
// Throws Error{invalid}.
inline void check_values(const CLI::App& app) {
  for (const auto* const option : app.get_options()) {
    if (option->get_type_name() == k_forwarded_arguments) continue;
    for (const auto& value : option->results()) {
      if (value.empty())
        throw Error(Code::invalid, option->get_name() + ": the value is empty; give one, or leave the option out");
      if (value == "--" || (value.front() == '-' && app.get_option_no_throw(value)))
        throw Error(Code::invalid, option->get_name() + " has no value: '" + value +
                                       "' follows it; write the value after the option");
    }
  }
}

// Returns CLI11's message on a wrong call, with those reworded that name types or counts of arguments.
inline std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  // "Could not convert: --domain = abc"
  constexpr std::string_view k_not_converted = "Could not convert: ";
  const auto equals = text.find(" = ");
  if (text.starts_with(k_not_converted) && equals != std::string::npos)
    return text.substr(k_not_converted.size(), equals - k_not_converted.size()) + ": '" + text.substr(equals + 3) +
           "' is not a valid value";
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return text;
  for (const auto* const option : app.get_options())
    if (option->results().size() > static_cast<std::size_t>(option->get_items_expected_max()))
      return option->get_name() + " is given " +
             (option->results().size() == 2 ? "twice" : std::to_string(option->results().size()) + " times") +
             "; give it once";
  return text.substr(0, text.find(':')) + " has no value";
}

// Returns the subcommand's options as JSON (cli/describe.hpp).
std::string description(const CLI::App& app);

// Parses `argv`, or prints the help or the description if requested, and returns false then. Throws
// Error{invalid}; its text ends with the command that prints the help.
inline bool parse_arguments(CLI::App& app, const std::string& subcommand, int argc, char** argv) {
  app.get_help_ptr()->description("print this help and exit");
  if (argc == 2 && std::string_view(argv[1]) == k_describe) {
    fmt::print("{}\n", description(app));
    return false;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    app.formatter(std::make_shared<HelpFormatter>());
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    check_values(app);
    throw Error(Code::invalid, describe_parse_error(app, error) + "; see terrace " + subcommand + " --help");
  }
  check_values(app);
  return true;
}

}  // namespace terrace::cli
