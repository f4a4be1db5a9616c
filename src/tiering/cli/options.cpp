// SPDX-License-Identifier: Apache-2.0
// Parses the command lines of `terrace run`, `record`, `simulate` and `replay` into LaunchOptions, --config
// included. See options.hpp.
#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/option_conflicts.hpp"
#include "cli/option_groups.hpp"
#include "cli/parse.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

struct SubcommandText {
  const char* name;
  const char* about;
  const char* footer;
};

constexpr SubcommandText k_texts[] = {
    {"record", "run a program and write its profile",
     "Example:\n"
     "  terrace record -o cg.terrace -- ./cg --class S\n"
     "Build the program with terrace-cc, terrace-c++ or terrace-fc: only instrumented code reports its accesses."},
    {"run", "run a program and place its data",
     "Examples:\n  terrace run --plan plan.toml -- ./app\n  terrace run --fast 16GiB -- mpirun -n 4 ./app\n"
     "  terrace run --memory 4GiB --spill /scratch -- ./app   out-of-core: keep data beyond 4GiB in a file\n"
     "  terrace run --intent bandwidth -- ./app               place large data by the machine's bandwidth "
     "ordering"},
    {"simulate", "run a program in virtual time on the machine of a machine file",
     "Examples:\n  terrace simulate --machine unimem-bw2 --fast 64MiB -- ./cg --class W\n  terrace simulate "
     "--machine unimem-lat4 --config 'label=slow planner=slow-only' --config 'label=auto fast=8MiB' -- ./cg"},
    {"replay", "predict a program's time from a recording of its misses: the results of simulate, much faster",
     "Examples:\n"
     "  terrace simulate --misses cg.misses --machine unimem-bw2 -- ./cg --class W\n"
     "  terrace replay cg.misses --machine unimem-lat4 --fast 64MiB\n"
     "The machine's caches must be the recorded ones (--cache resizes them); everything else may differ."},
};

const SubcommandText& text_of(const std::string& subcommand) {
  for (const auto& text : k_texts)
    if (subcommand == text.name) return text;
  throw Error(Code::invalid,
              "terrace " + subcommand + " does not launch programs; use terrace run, record or simulate");
}

// Returns N: one of N iterations is observed. Recordings and exact counters need every iteration.
std::uint32_t observed_every(const std::optional<std::uint32_t>& given, const LaunchOptions& options) {
  constexpr std::uint32_t k_default = 16;
  const char* const whole = !options.misses.empty() ? "--misses" : options.exact ? "--exact" : nullptr;
  if (given && *given > 1 && whole)
    throw Error(Code::invalid, "--every " + std::to_string(*given) + " leaves iterations out and " + whole +
                                   " keeps all of them; give one of the two");
  return given.value_or(whole ? 1 : k_default);
}

bool yes_or_no(const std::string& key, const std::string& value) {
  if (value == "yes" || value == "no") return value == "yes";
  throw Error(Code::invalid, "--config: '" + key + "=" + value + "' is neither yes nor no; write " + key +
                                 "=yes or " + key + "=no");
}

}  // namespace

// Parses one --config, "label=a fast=1GiB". Keys that it does not name keep the values of `defaults`.
ConfigurationOptions parse_configuration(const std::string& text, const ConfigurationOptions& defaults) {
  auto configuration = defaults;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    const auto value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    if (value.empty())
      throw Error(Code::invalid, "--config: '" + word + "' is not key=value; write for example fast=1GiB");
    if (key == "label")
      configuration.label = value;
    else if (key == "machine")
      configuration.machine = value;
    else if (key == "budget")
      configuration.budget = value;
    else if (key == "fast")
      configuration.fast = value;
    else if (key == "planner")
      configuration.planner = value;
    else if (key == "plan")
      configuration.plan = value;
    else if (key == "refine-plan" || key == "better-plan")
      configuration.refine_plan = yes_or_no(key, value);
    else if (key == "free-moves")
      configuration.free_moves = yes_or_no(key, value);
    else if (key == "hints")
      configuration.hints = value;
    else if (key == "cores")
      configuration.cores = value;
    else if (key == "memory")
      configuration.memory = value;
    else
      throw Error(Code::invalid, "--config: unknown key '" + key +
                                     "'; there are label, machine, budget, fast, planner, plan, refine-plan, "
                                     "free-moves, hints, cores, memory");
  }
  if (configuration.label.empty())
    throw Error(Code::invalid, "--config '" + text + "' has no label; add label=NAME");
  return configuration;
}

std::vector<std::string> labels_of(const LaunchOptions& options) {
  if (options.configurations.empty()) return {""};
  std::vector<std::string> labels;
  labels.reserve(options.configurations.size());
  for (const auto& one : options.configurations) labels.push_back(one.label);
  return labels;
}

std::optional<LaunchOptions> parse_launch(const std::string& subcommand, int argc, char** argv) {
  const auto& text = text_of(subcommand);
  LaunchOptions options;
  options.subcommand = subcommand;
  options.undo = options.is_run();
  UncheckedOptions unchecked;
  CLI::App app(text.about, "terrace " + subcommand);
  app.footer(text.footer);
  app.prefix_command(!options.is_replay());
  add_launch_options(app, options, unchecked);
  if (!parse_arguments(app, subcommand, argc, argv)) return std::nullopt;
  check_conflicts(app, subcommand);
  for (const auto* option : app.get_options())
    options.has_requests = options.has_requests || (option->count() > 0 && option->get_name() != "--json" &&
                                                    option->get_name() != "--quiet");
  for (const auto& one : unchecked.configurations)
    options.configurations.push_back(parse_configuration(one, options.configuration));
  if (!options.is_run()) {
    if (unchecked.configurations.empty()) check_out_of_core(options.configuration);
    for (const auto& one : options.configurations) check_out_of_core(one);
  }
  if (options.is_replay()) return options;
  if (subcommand == "record") options.every = observed_every(unchecked.every, options);
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  if (options.command.empty())
    throw Error(Code::invalid, "no program to " + subcommand + "; write: terrace " + subcommand +
                                   " [options] -- PROGRAM [arguments]");
  if (options.command.front().starts_with("-"))
    throw Error(Code::invalid,
                "unknown option " + options.command.front() + "; see terrace " + subcommand + " --help");
  return options;
}

}  // namespace terrace::cli
