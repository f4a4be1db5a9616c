// How every small verb reads its words.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "cli/describe.hpp"
#include "core/error.hpp"

namespace terrace::cli {

// Options of this type pass arguments on to a program: whatever these are, and none.
inline constexpr const char* k_passed_on = "ARGUMENTS";

// An empty value is none that anybody meant (a script's variable without a value); nor is what ends the options,
// or another option.
inline void check_values(const CLI::App& app) {
  for (const auto* const option : app.get_options()) {
    if (option->get_type_name() == k_passed_on) continue;
    for (const auto& value : option->results()) {
      if (value.empty())
        throw Error(Code::invalid, option->get_name() + ": its value is empty; leave it out, or give one");
      if (value == "--" || (value.front() == '-' && app.get_option_no_throw(value)))
        throw Error(Code::invalid, option->get_name() + " has no value: '" + value + "' follows it");
    }
  }
}

// What the library says of a wrong call, in plain words: what follows an option, how often it may be there.
inline std::string problem_with_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  // "Could not convert: --domain = abc"
  constexpr std::string_view k_unread = "Could not convert: ";
  const auto equals = text.find(" = ");
  if (text.starts_with(k_unread) && equals != std::string::npos)
    return text.substr(k_unread.size(), equals - k_unread.size()) + ": '" + text.substr(equals + 3) +
           "' is no value of it";
  if (!dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return text;
  for (const auto* const option : app.get_options())
    if (option->results().size() > static_cast<std::size_t>(option->get_items_expected_max()))
      return option->get_name() + " is given " +
             (option->results().size() == 2 ? "twice" : std::to_string(option->results().size()) + " times") +
             "; give it once";
  return text.substr(0, text.find(':')) + " has no value";
}

// The verb's options as JSON (cli/describe.hpp).
std::string description(const CLI::App& app);

// False when help or a description was asked for, and printed. Throws Error{invalid} that names the verb's --help.
inline bool parse_words(CLI::App& app, const std::string& verb, int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == k_describe) {
    fmt::print("{}\n", description(app));
    return false;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::ParseError& error) {
    check_values(app);
    throw Error(Code::invalid, problem_with_words(app, error) + "; see terrace " + verb + " --help");
  }
  check_values(app);
  return true;
}

}  // namespace terrace::cli
