// SPDX-License-Identifier: Apache-2.0
// Implements the command `terrace`: dispatches native subcommands, which start in a few milliseconds, and executes
// the Python package of the same installation for all others.
#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/describe.hpp"
#include "cli/launch.hpp"
#include "cli/subcommands.hpp"
#include "core/error.hpp"

namespace {

constexpr std::string_view k_usage =
    "terrace: place a program's data where it runs fastest\n\n"
    "Usage: terrace SUBCOMMAND [options] [-- PROGRAM [arguments]]\n\n";

struct NativeSubcommand {
  std::string_view name;
  std::string_view about;
};

constexpr std::array<NativeSubcommand, 6> k_native = {{
    {"machine", "show this machine or a machine file (measure, check, orderings)"},
    {"record", "run a program and write its profile"},
    {"run", "run a program and place its data: automatically, or by --plan"},
    {"simulate", "run a program in virtual time on the machine of a machine file"},
    {"replay", "predict other machines, budgets and planners from a recording of misses"},
    {"merge", "write the profile of a run whose launcher was killed"},
}};

constexpr std::array<std::string_view, 3> k_launching = {"record", "run", "simulate"};

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Order of the subcommands in lists: that of a user's work. Others follow.
constexpr std::array<std::string_view, 14> k_order = {"run",      "record", "show",    "bounds", "plan",
                                                      "simulate", "replay", "compare", "report", "export",
                                                      "import",   "merge",  "machine", "lab"};

// Returns the native subcommands and, if the Python package is installed, the others.
std::vector<terrace::cli::Subcommand> list_subcommands(bool& has_python) {
  std::vector<terrace::cli::Subcommand> subcommands;
  for (const auto& [name, about] : k_native) subcommands.push_back({std::string(name), std::string(about)});
  const auto python = terrace::cli::find_python_subcommands();
  has_python = python.has_value();
  if (has_python) subcommands.insert(subcommands.end(), python->begin(), python->end());
  std::ranges::stable_sort(subcommands, {},
                           [](const auto& one) { return std::ranges::find(k_order, one.name) - k_order.begin(); });
  return subcommands;
}

void print_usage(std::FILE* to) {
  fmt::print(to, "{}", k_usage);
  bool has_python = false;
  for (const auto& one : list_subcommands(has_python)) fmt::print(to, "  {:<10} {}\n", one.name, one.about);
  if (!has_python) fmt::print(to, "  more       analysis subcommands: python3 -m terrace --help lists them\n");
  fmt::print(to,
             "\nterrace SUBCOMMAND --help lists its options and has an example. TERRACE=off disables Terrace.\n");
}

// Prints the list that scripts/command_line_page.py makes man pages and completions of.
void describe_subcommands() {
  bool has_python = false;
  fmt::print("{}\n", terrace::cli::description(list_subcommands(has_python)));
}

// Prints an error. Does not throw: standard error may be a file on a full disk.
void print_error(const char* what) {
  std::fputs("terrace: ", stderr);
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
}

// Opens /dev/null for each standard stream that is closed, so that no file opened later gets its number: messages
// would go there. The program inherits these streams closed (O_CLOEXEC), as this process did.
void reserve_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) [[maybe_unused]]
      const int taken = open("/dev/null", O_RDWR | O_CLOEXEC);
}

// Runs the subcommand or option that the first argument names. Returns the exit status.
int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const std::string_view subcommand = argv[1];
  if (subcommand == "--help" || subcommand == "-h" || subcommand == "help") {
    print_usage(stdout);
    return 0;
  }
  if (subcommand == "--version") {
    fmt::print("{}", terrace::cli::version());
    return 0;
  }
  if (subcommand == "--describe") {
    describe_subcommands();
    return 0;
  }
  if (subcommand == "--names") return terrace::cli::print_names(argc > 2 ? argv[2] : "");
  if (is_one_of(subcommand, k_launching)) {
    const auto options = terrace::cli::parse_launch(std::string(subcommand), argc - 1, argv + 1);
    return options ? terrace::cli::launch(*options) : 0;
  }
  if (subcommand == "replay") return terrace::cli::run_replay(argc - 1, argv + 1);
  if (subcommand == "merge") return terrace::cli::run_merge(argc - 1, argv + 1);
  if (subcommand == "machine") return terrace::cli::run_machine(argc - 1, argv + 1);
  const auto python = terrace::cli::find_python_subcommands();
  const auto asked = [&](const terrace::cli::Subcommand& known) { return known.name == subcommand; };
  if (!python || std::any_of(python->begin(), python->end(), asked))
    terrace::cli::exec_python(argc, argv);  // reports an unknown subcommand itself
  throw terrace::Error(terrace::Code::invalid,
                       fmt::format("there is no subcommand '{}'; terrace --help lists them", subcommand));
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_streams();
  terrace::cli::ignore_size_limit_signal();
  try {
    return dispatch(argc, argv);
  } catch (const terrace::cli::ProgramStartError& error) {
    print_error(error.what());
    return error.status();
  } catch (const terrace::Error& error) {
    print_error(error.what());
    return error.code() == terrace::Code::invalid ? 2 : 1;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}
