// See option_pairs.hpp.
#include "cli/option_pairs.hpp"

#include <initializer_list>
#include <string>

#include "cli/options.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace {

struct Apart {
  const char* verb;
  const char* option;
  std::initializer_list<const char*> others;
  const char* why;
};

constexpr const char* k_by_touches =
    "touches decide what is in memory, and nothing is planned; leave one of them out";

constexpr const char* k_nothing_placed =
    "it serves --intent and the calls of terrace.h, which place nothing over a file; leave one of them out";

// NOLINTNEXTLINE(cert-err58-cpp): constants
const Apart k_apart[] = {
    {"run",
     "--intent",
     {"--plan", "--better-plan", "--planner", "--hints", "--let", "--memory", "--spill", "--phases", "--loop",
      "--sample", "--progress", "--collector", "--output", "--keep-journals"},
     "data are placed by an intent alone; leave one of them out"},
    {"run",
     "--memory",
     {"--machine", "--budget", "--fast", "--planner", "--better-plan", "--hints", "--let"},
     k_by_touches},
    {"run", "--memory", {"--mark", "--eager"}, k_nothing_placed},
};

struct Needs {
  const char* option;
  const char* other;
  const char* what;
};

constexpr Needs k_needs[] = {
    {"--spill", "--memory", "say with --memory how much memory there is"},
    {"--report-every", "--memory", "it tells of --memory, which is not there"},
};

constexpr const char* k_calibrates = "it is for calibration; name the plain program with --native";

bool is_given(const CLI::App& app, const char* name) {
  const auto* const option = app.get_option_no_throw(name);
  return option && option->count() > 0;
}

std::string with_value(const CLI::App& app, const char* name) {
  const auto& given = app.get_option(name)->results();
  return given.empty() ? name : std::string(name) + " " + given.front();
}

}  // namespace

void check_pairs(const CLI::App& app, const std::string& verb) {
  for (const auto& [of_verb, option, others, why] : k_apart) {
    if (verb != of_verb || !is_given(app, option)) continue;
    for (const char* const other : others)
      if (is_given(app, other)) throw Error(Code::invalid, std::string(other) + " beside " + option + ": " + why);
  }
  for (const auto& [option, other, what] : k_needs)
    if (is_given(app, option) && !is_given(app, other))
      throw Error(Code::invalid, with_value(app, option) + ": " + what);
  for (const char* const option : {"--calibrate-on", "--calibrate-stdin", "--calibrate-in", "--calibrate-status"})
    if (is_given(app, option) && !is_given(app, "--native") && !is_given(app, "--calibrate"))
      throw Error(Code::invalid, with_value(app, option) + ": " + k_calibrates);
}

void check_over_file(const ConfigurationOptions& configuration) {
  if (configuration.memory.empty()) return;
  // All data stay in the one memory, or its file.
  const bool plans = !configuration.planner.empty() && configuration.planner != "slow-only";
  const char* const other = plans                           ? "--planner"
                            : !configuration.fast.empty()   ? "--fast"
                            : !configuration.budget.empty() ? "--budget"
                            : !configuration.plan.empty()   ? "--plan"
                            : configuration.better_plan     ? "--better-plan"
                            : !configuration.hints.empty()  ? "--hints"
                                                            : nullptr;
  if (other) throw Error(Code::invalid, std::string(other) + " beside --memory: " + k_by_touches);
}

}  // namespace terrace::cli
