// SPDX-License-Identifier: Apache-2.0
// Writes the JSON of `terrace --describe` and `terrace SUBCOMMAND --describe`: subcommands and their options, from
// which documentation and completions are generated. See describe.hpp.
#include "cli/describe.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/launch.hpp"
#include "cli/parse.hpp"

namespace terrace::cli {

namespace {

constexpr int k_description_schema = 1;

nlohmann::ordered_json names_of_all(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const auto* const option : options) names.push_back(option->get_name());
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::ordered_json describe(const CLI::Option& option) {
  const bool takes_value = option.get_type_size_max() > 0;
  return {{"names", listed_names(option)},
          {"argument", option.get_positional() ? option.get_name(true, false) : ""},
          {"value", takes_value ? option.get_type_name() : ""},
          {"default", option.get_default_str()},
          {"about", option.get_description()},
          {"group", option.get_group()},
          {"required", option.get_required()},
          {"repeats", option.get_expected_max() > 1},
          {"needs", names_of_all(option.get_needs())},
          {"excludes", names_of_all(option.get_excludes())}};
}

}  // namespace

std::string description(const CLI::App& app) {
  nlohmann::ordered_json document{{"schema", k_description_schema},
                                  {"name", app.get_name()},
                                  {"about", app.get_description()},
                                  {"more", app.get_footer()},
                                  {"program", app.get_prefix_command()}};
  auto& options = document["options"] = nlohmann::ordered_json::array();
  for (const auto* const option : app.get_options()) options.push_back(describe(*option));
  return document.dump(2);
}

std::string description(const std::vector<Subcommand>& subcommands) {
  nlohmann::ordered_json document{{"schema", k_description_schema}, {"name", "terrace"}};
  auto& list = document["verbs"] = nlohmann::ordered_json::array();
  for (const auto& subcommand : subcommands)
    list.push_back({{"name", subcommand.name}, {"about", subcommand.about}});
  return document.dump(2);
}

}  // namespace terrace::cli
