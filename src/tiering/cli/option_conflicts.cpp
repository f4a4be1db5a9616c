// SPDX-License-Identifier: Apache-2.0
// Holds the tables of conflicting and of dependent options of run, record, simulate and replay, and checks a
// command line against them. See option_conflicts.hpp.
#include "cli/option_conflicts.hpp"

#include <initializer_list>
#include <string>

#include "cli/options.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

// Options that cannot be used together with `option` in one subcommand.
struct ConflictRule {
  const char* subcommand;
  const char* option;
  std::initializer_list<const char*> others;
  const char* why;
};

constexpr const char* k_by_accesses =
    "accesses decide what is in memory, and nothing is planned; leave one of them out";

constexpr const char* k_nothing_placed =
    "it applies only to --intent and the calls of terrace.h, which place no data with --memory; leave one of them "
    "out";

// NOLINTNEXTLINE(cert-err58-cpp): constants
const ConflictRule k_conflicts[] = {
    {"run",
     "--intent",
     {"--plan", "--refine-plan", "--planner", "--hints", "--define", "--memory", "--spill", "--phases", "--loop",
      "--sample", "--progress", "--collector", "--output", "--keep-journals"},
     "--intent alone decides where data are placed; leave one of them out"},
    {"run",
     "--memory",
     {"--machine", "--budget", "--fast", "--planner", "--refine-plan", "--hints", "--define"},
     k_by_accesses},
    {"run", "--memory", {"--watermark", "--eager"}, k_nothing_placed},
};

// An option that does nothing without another one.
struct DependencyRule {
  const char* option;
  const char* other;
  const char* advice;
};

constexpr DependencyRule k_dependencies[] = {
    {"--spill", "--memory", "it needs --memory SIZE, the limit beyond which data go to the file"},
    {"--report-every", "--memory", "it needs --memory SIZE, which it reports on"},
};

constexpr const char* k_calibrates =
    "it is for calibration; name the uninstrumented build of the program with --native";

bool is_given(const CLI::App& app, const char* name) {
  const auto* const option = app.get_option_no_throw(name);
  return option && option->count() > 0;
}

std::string with_value(const CLI::App& app, const char* name) {
  const auto& given = app.get_option(name)->results();
  return given.empty() ? name : std::string(name) + " " + given.front();
}

}  // namespace

void check_conflicts(const CLI::App& app, const std::string& subcommand) {
  for (const auto& [of_subcommand, option, others, why] : k_conflicts) {
    if (subcommand != of_subcommand || !is_given(app, option)) continue;
    for (const char* const other : others)
      if (is_given(app, other))
        throw Error(Code::invalid, std::string(other) + " cannot be used with " + option + ": " + why);
  }
  for (const auto& [option, other, advice] : k_dependencies)
    if (is_given(app, option) && !is_given(app, other))
      throw Error(Code::invalid, with_value(app, option) + ": " + advice);
  for (const char* const option : {"--calibrate-on", "--calibrate-stdin", "--calibrate-in", "--calibrate-status"})
    if (is_given(app, option) && !is_given(app, "--native") && !is_given(app, "--calibrate"))
      throw Error(Code::invalid, with_value(app, option) + ": " + k_calibrates);
}

void check_out_of_core(const ConfigurationOptions& configuration) {
  if (configuration.memory.empty()) return;
  const bool plans = !configuration.planner.empty() && configuration.planner != "slow-only";
  const char* const other = plans                           ? "--planner"
                            : !configuration.fast.empty()   ? "--fast"
                            : !configuration.budget.empty() ? "--budget"
                            : !configuration.plan.empty()   ? "--plan"
                            : configuration.refine_plan     ? "--refine-plan"
                            : !configuration.hints.empty()  ? "--hints"
                                                            : nullptr;
  if (other) throw Error(Code::invalid, std::string(other) + " cannot be used with --memory: " + k_by_accesses);
}

}  // namespace terrace::cli
