// SPDX-License-Identifier: Apache-2.0
// Implements `terrace machine [FILE]`, `terrace machine measure`, `check` and `orderings`. See subcommands.hpp.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/parse.hpp"
#include "cli/subcommands.hpp"
#include "cli/user_errors.hpp"
#include "core/error.hpp"
#include "machine/describe/describe.hpp"
#include "machine/discover/check.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/measure/measure.hpp"
#include "machine/nearest_name.hpp"
#include "memory/ledger/view.hpp"
#include "transfer/measure/measure_copiers.hpp"

namespace terrace::cli {

namespace {

constexpr double k_machine_share = 0.9;                          // of the progress; the rest is copiers
constexpr std::chrono::seconds k_limit{115}, k_quick_limit{27};  // after which no copiers are measured

// Rewrites one line of the terminal; does nothing if standard error is not a terminal.
void show_progress(double done, std::string_view what) {
  static const bool is_terminal = isatty(STDERR_FILENO) != 0;
  if (is_terminal) fmt::print(stderr, "\r\033[K{:3.0f} % {}{}", 100 * done, what, done >= 1 ? "\r\033[K" : "");
}

// Checks before minutes of measurement that the output can be written and is not a file of another kind.
void check_machine_output(const std::string& output) {
  std::error_code ignored;
  if (!output.empty()) {
    const auto folder = std::filesystem::absolute(output, ignored).parent_path();
    const auto& written = std::filesystem::exists(output, ignored) ? std::filesystem::path(output) : folder;
    if (access(written.c_str(), W_OK) != 0)
      throw Error(Code::invalid,
                  fmt::format("--output {}: {}: {}", output, written.native(), std::strerror(errno)));
  }
  if (output.empty() || !std::filesystem::is_regular_file(output, ignored) ||
      std::filesystem::file_size(output, ignored) == 0)
    return;
  try {
    machine::load_machine_file(output);
  } catch (const Error&) {
    throw Error(Code::invalid,
                "--output " + output +
                    ": this file exists and is not a machine file, so it is not overwritten; name another");
  }
}

// Implements `terrace machine measure`.
int measure(const std::string& output, bool quick, bool json) {
  const auto begun = std::chrono::steady_clock::now();
  check_machine_output(output);
  const auto discovered = machine::discover_details();
  const machine::MeasureOptions options{.quick = quick,
                                        .limits = quick ? machine::k_quick_limits : machine::TimeLimits{}};
  auto file = machine::measure_machine(discovered, options, [](double done, std::string_view what) {
    show_progress(k_machine_share * done, what);
  });
  transfer::measure_copiers(
      file, discovered,
      [](double done, std::string_view what) {
        show_progress(k_machine_share + (1 - k_machine_share) * done, what);
      },
      begun + (quick ? k_quick_limit : k_limit));
  const auto* measured = file.measured ? &*file.measured : nullptr;
  if (!output.empty()) machine::write_machine_file(output, file.machine, measured);
  if (json)
    fmt::print("{}\n", machine::describe_json(file.machine, measured));
  else
    fmt::print("{}", output.empty() ? machine::format_machine_file(file.machine, measured)
                                    : machine::describe(file.machine, measured) + "written to " + output + "\n");
  return 0;
}

// Implements `terrace machine check`.
int check(bool json) {
  const char* temporary = std::getenv("TMPDIR");
  const auto findings = machine::check_system(machine::SystemFiles(), machine::this_system(),
                                              temporary != nullptr && *temporary != 0 ? temporary : "/tmp");
  fmt::print("{}", json ? machine::describe_json(findings) + "\n" : machine::describe(findings));
  return 0;
}

machine::MachineFile load(const std::string& name) {
  if (name.empty()) return {machine::discover(), std::nullopt};
  return not_found_as_invalid([&] { return machine::load_machine(name); });
}

int show_orderings(const std::string& name, bool json) {
  const auto machine = load(name).machine;
  fmt::print("{}", json ? machine::orderings_json(machine) : machine::describe_orderings(machine));
  return 0;
}

// Formats a table of the running jobs of this user: the bytes of each place that each process holds.
std::string describe_ledgers(const std::vector<memory::LedgerView>& ledgers) {
  const auto bytes = [](const std::optional<std::uint64_t>& value, const char* otherwise) {
    return value ? format(Bytes{*value}) : std::string(otherwise);
  };
  std::string text;
  for (const auto& ledger : ledgers) {
    text += fmt::format("\njob {}\n  {:<10} {:<12} {:>12} {:>12} {:>12} {:>12}\n", ledger.job, "process", "place",
                        "held", "outstanding", "share", "budget");
    for (const auto& process : ledger.processes)
      for (std::size_t place = 0; place < ledger.places.size(); ++place) {
        const auto& holding = process.holdings[place];
        text += fmt::format("  {:<10} {:<12} {:>12} {:>12} {:>12} {:>12}\n", process.process,
                            ledger.places[place].name, bytes(holding.held, "unknown"),
                            bytes(holding.outstanding, "unknown"), bytes(holding.share, "-"),
                            format(Bytes{ledger.places[place].budget}));
      }
    if (ledger.unknown_processes > 0)
      text += fmt::format("  {} slots were overwritten by a stray write; what they hold counts as all there is\n",
                          ledger.unknown_processes);
  }
  return text;
}

// Returns the same as describe_ledgers() as JSON.
nlohmann::json ledgers_json(const std::vector<memory::LedgerView>& ledgers) {
  auto jobs = nlohmann::json::array();
  const auto value_or_null = [](const std::optional<std::uint64_t>& value) {
    return value ? nlohmann::json(*value) : nlohmann::json();
  };
  for (const auto& ledger : ledgers) {
    nlohmann::json job{{"job", ledger.job}, {"unknown_processes", ledger.unknown_processes}};
    auto& budgets = job["budget"] = nlohmann::json::object();
    for (const auto& place : ledger.places) budgets[place.name] = place.budget;
    auto& processes = job["processes"] = nlohmann::json::array();
    for (const auto& process : ledger.processes) {
      auto places = nlohmann::json::object();
      for (std::size_t place = 0; place < ledger.places.size(); ++place) {
        const auto& holding = process.holdings[place];
        places[ledger.places[place].name] = {{"held", value_or_null(holding.held)},
                                             {"outstanding", value_or_null(holding.outstanding)},
                                             {"share", value_or_null(holding.share)}};
      }
      processes.push_back({{"process", process.process}, {"places", std::move(places)}});
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

nlohmann::ordered_json limit_json(const std::optional<machine::MemoryLimit>& limit) {
  if (!limit) return nullptr;
  return {{"limit", limit->limit.value},
          {"used", limit->used ? nlohmann::ordered_json(limit->used->value) : nlohmann::ordered_json(nullptr)},
          {"version", limit->version}};
}

// Prints this machine, the control group's limit, and what jobs hold of its memory.
int show_here(bool json) {
  const auto machine = machine::discover();
  const auto limit = machine::SystemFiles().memory_limit();
  const auto ledgers = memory::list_user_ledgers();
  if (!json) {
    fmt::print("{}{}{}", machine::describe(machine), limit ? machine::describe(machine, *limit) : "",
               describe_ledgers(ledgers));
    return 0;
  }
  auto document = nlohmann::ordered_json::parse(machine::describe_json(machine));
  document["memory_limit"] = limit_json(limit);
  document["jobs"] = ledgers_json(ledgers);
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return 0;
}

// Implements `terrace machine [FILE]`.
int show(const std::string& name, bool json) {
  if (name.empty()) return show_here(json);
  const auto file = load(name);
  const auto* measured = file.measured ? &*file.measured : nullptr;
  fmt::print("{}", json ? machine::describe_json(file.machine, measured) + "\n"
                        : machine::describe(file.machine, measured));
  return 0;
}

// Throws Error{invalid} for a name that resembles an action of this subcommand more than a machine.
void refuse_mistyped_action(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml")) return;
  const auto nearest = machine::nearest_name(name, {"measure", "check", "orderings"});
  const auto shipped = machine::shipped_machines();
  if (nearest.empty() || std::ranges::find(shipped, name) != shipped.end()) return;
  throw Error(Code::invalid,
              "there is no machine '" + name + "'; did you mean 'terrace machine " + nearest + "'?");
}

}  // namespace

int run_machine(int argc, char** argv) {
  CLI::App app("show this machine or a machine file, or measure and check this machine", "terrace machine");
  std::string name;
  std::string given;
  std::string output;
  bool json = false;
  bool quick = false;
  app.footer(
      "Examples:\n"
      "  terrace machine                          this machine, and the memory that your running jobs hold\n"
      "  terrace machine knl-7210-flat --json     a shipped file\n"
      "  terrace machine measure -o here.toml     measure this machine (at most two minutes)\n"
      "  terrace machine check                    what Terrace can do here, and what prevents the rest\n"
      "  terrace machine orderings FILE           for each intent, the places in order of use");
  app.add_option("file", name,
                 "machine file, or the name of a shipped one; or an action: measure, check, orderings")
      ->type_name("FILE|NAME|measure|check|orderings");
  app.add_option("machine,--machine,-m", given,
                 "orderings: machine file, or the name of a shipped one; default: this machine")
      ->type_name("FILE|NAME");
  app.add_flag("--json", json, "print JSON, with the version of its schema");
  app.add_option("--output,-o", output, "measure: write the machine file here")->type_name("FILE");
  app.add_flag("--quick", quick, "measure: take at most half a minute, with a larger spread");
  if (!parse_arguments(app, "machine", argc, argv)) return 0;
  if (name == "measure") {
    if (!given.empty())
      throw Error(Code::invalid,
                  "unexpected machine '" + given + "': measure always measures this machine; leave it out");
    return measure(output, quick, json);
  }
  if (quick || !output.empty())
    throw Error(Code::invalid,
                "--quick and --output belong to terrace machine measure; leave them out, or write measure");
  if (name == "orderings") return show_orderings(given, json);
  if (!given.empty())
    throw Error(Code::invalid,
                "unexpected machine '" + given + "': only terrace machine orderings takes it; leave it out");
  if (name == "check") return check(json);
  refuse_mistyped_action(name);
  return show(name, json);
}

}  // namespace terrace::cli
