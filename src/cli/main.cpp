// terrace: the command. Launching verbs are done here, in a few milliseconds; verbs that analyse are handed to the
// Python package of the same installation.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cli/launch.hpp"
#include "cli/machine_verb.hpp"
#include "cli/merge_verb.hpp"
#include "cli/replay_verb.hpp"

namespace {

constexpr std::string_view k_usage =
    R"(terrace: put a program's data where it runs fastest

Usage: terrace VERB [options] [-- PROGRAM [arguments]]

  machine    show this machine or a machine file (measure, check)
  record     run a program and write its profile
  show       print objects, phases and what each costs
  bounds     what any placement could win, at best
  plan       choose placements for a machine and a budget; predict the gain
  run        run with data placed: automatic, or by --plan
  simulate   run in virtual time on a machine file
  replay     price a recording of a program's misses on other machines, budgets, planners
  merge      write the profile of a run whose launcher was killed
  report     write one HTML page
  export     write Perfetto, CSV, JSON
  lab        for researchers and developers: demo, trace, misses, coverage, sweep

terrace VERB --help says more and has an example. TERRACE=off makes terrace vanish.
)";

constexpr std::array<std::string_view, 3> k_launching = {"record", "run", "simulate"};
constexpr std::array<std::string_view, 6> k_analysing = {"show", "bounds", "plan", "report", "export", "lab"};

template <std::size_t N>
bool among(std::string_view verb, const std::array<std::string_view, N>& verbs) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

// Becomes `python -m terrace VERB ...`; returns only when that fails.
int analyse(int argc, char** argv) {
  auto python = terrace::cli::python_command();
  std::vector<std::string> words = {python, "-P", "-m", "terrace"};
  words.insert(words.end(), argv + 1, argv + argc);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  throw terrace::Error(terrace::Code::failed, "cannot start " + python + ": " + std::strerror(errno));
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "{}", k_usage);
    return 2;
  }
  const std::string_view verb = argv[1];
  if (verb == "--help" || verb == "-h" || verb == "help") {
    fmt::print("{}", k_usage);
    return 0;
  }
  if (verb == "--version") {
    fmt::print("terrace {}\n", TERRACE_VERSION);
    return 0;
  }
  if (among(verb, k_launching)) {
    const auto options = terrace::cli::parse_launch(std::string(verb), argc - 1, argv + 1);
    return options ? terrace::cli::launch(*options) : 0;
  }
  if (verb == "replay") return terrace::cli::replay_verb(argc - 1, argv + 1);
  if (verb == "merge") return terrace::cli::merge_verb(argc - 1, argv + 1);
  if (verb == "machine") return terrace::cli::machine_verb(argc - 1, argv + 1);
  if (among(verb, k_analysing)) return analyse(argc, argv);
  throw terrace::Error(terrace::Code::invalid,
                       fmt::format("there is no verb '{}'; terrace --help lists them", verb));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return dispatch(argc, argv);
  } catch (const terrace::Error& error) {
    fmt::print(stderr, "terrace: {}\n", error.what());
    return error.code() == terrace::Code::invalid ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "terrace: {}\n", error.what());
    return 1;
  }
}
