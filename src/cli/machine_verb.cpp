// `terrace machine [FILE]`, `terrace machine measure`, `check` and `orderings`. See machine_verb.hpp.
#include "cli/machine_verb.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

#include "cli/parse.hpp"
#include "core/error.hpp"
#include "machine/describe/describe.hpp"
#include "machine/discover/check.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/measure/measure.hpp"
#include "transfer/measure/measure_copiers.hpp"

namespace terrace::cli {

namespace {

constexpr double k_share_of_the_machine = 0.9;  // of all that is measured; the rest is moves

// Rewrites one line of a terminal of ours; silent anywhere else.
void show_progress(double done, std::string_view what) {
  static const bool ours = isatty(STDERR_FILENO) != 0;
  if (ours) fmt::print(stderr, "\r\033[K{:3.0f} % {}{}", 100 * done, what, done >= 1 ? "\r\033[K" : "");
}

int measure(const std::string& output, bool quick, bool json) {
  const auto discovered = machine::discover_details();
  const machine::MeasureOptions options{.quick = quick};
  auto file = machine::measure_machine(discovered, options, [](double done, std::string_view what) {
    show_progress(k_share_of_the_machine * done, what);
  });
  transfer::measure_copiers(file, discovered, [](double done, std::string_view what) {
    show_progress(k_share_of_the_machine + (1 - k_share_of_the_machine) * done, what);
  });
  const auto* measured = file.measured ? &*file.measured : nullptr;
  if (!output.empty()) machine::write_machine_file(output, file.machine, measured);
  if (json)
    fmt::print("{}\n", machine::describe_json(file.machine, measured));
  else
    fmt::print("{}", output.empty() ? machine::format_machine_file(file.machine, measured)
                                    : machine::describe(file.machine, measured) + "written to " + output + "\n");
  return 0;
}

int check(bool json) {
  const char* temporary = std::getenv("TMPDIR");
  const auto findings = machine::check_system(machine::SystemFiles(), machine::this_system(),
                                              temporary != nullptr && *temporary != 0 ? temporary : "/tmp");
  fmt::print("{}", json ? machine::describe_json(findings) + "\n" : machine::describe(findings));
  return 0;
}

machine::MachineFile load(const std::string& name) {
  return name.empty() ? machine::MachineFile{machine::discover(), std::nullopt} : machine::load_machine(name);
}

int show_orderings(const std::string& name, bool json) {
  const auto machine = load(name).machine;
  fmt::print("{}", json ? machine::orderings_json(machine) : machine::describe_orderings(machine));
  return 0;
}

int show(const std::string& name, bool json) {
  const auto file = load(name);
  const auto* measured = file.measured ? &*file.measured : nullptr;
  fmt::print("{}", json ? machine::describe_json(file.machine, measured) + "\n"
                        : machine::describe(file.machine, measured));
  return 0;
}

}  // namespace

int machine_verb(int argc, char** argv) {
  CLI::App app("show this machine, or a machine file", "terrace machine");
  std::string name;
  std::string given;
  std::string output;
  bool json = false;
  bool quick = false;
  app.footer(
      "Examples:\n  terrace machine                          this machine\n  terrace machine knl-7210-flat --json "
      "    a "
      "shipped file\n  terrace machine measure -o here.toml     measure this machine (about a minute)\n"
      "  terrace machine check                    what Terrace can do here, and what stands in the way\n"
      "  terrace machine orderings -m FILE        for each intent, the places in the order in which to use them");
  app.add_option("file", name, "a machine file or the name of a shipped one; or measure, check, or orderings");
  app.add_option("--machine,-m", given, "orderings: machine file or name of a shipped one; default: this machine");
  app.add_flag("--json", json, "print JSON (with its schema's version)");
  app.add_option("--output,-o", output, "measure: write the machine file there");
  app.add_flag("--quick", quick, "measure: seconds instead of a minute, with a larger spread");
  if (!parse_words(app, "machine", argc, argv)) return 0;
  if (name == "measure") return measure(output, quick, json);
  if (quick || !output.empty())
    throw Error(Code::invalid, "--quick and --output belong to terrace machine measure");
  if (name == "orderings") return show_orderings(given, json);
  if (!given.empty()) throw Error(Code::invalid, "--machine belongs to terrace machine orderings");
  if (name == "check") return check(json);
  return show(name, json);
}

}  // namespace terrace::cli
