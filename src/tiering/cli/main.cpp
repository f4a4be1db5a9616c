// terrace: the command. Launching verbs are done here, in a few milliseconds; verbs that analyse are handed to the
// Python package of the same installation.
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
#include "cli/machine_verb.hpp"
#include "cli/merge_verb.hpp"
#include "cli/names.hpp"
#include "cli/replay_verb.hpp"
#include "cli/version.hpp"
#include "core/error.hpp"

namespace {

constexpr std::string_view k_usage =
    "terrace: put a program's data where it runs fastest\n\n"
    "Usage: terrace VERB [options] [-- PROGRAM [arguments]]\n\n";

struct NativeVerb {
  std::string_view name;
  std::string_view about;
};

constexpr std::array<NativeVerb, 6> k_native = {{
    {"machine", "show this machine or a machine file (measure, check, orderings)"},
    {"record", "run a program and write its profile"},
    {"run", "run with data placed: automatic, or by --plan"},
    {"simulate", "run in virtual time on a machine file"},
    {"replay", "price a recording of a program's misses on other machines, budgets, planners"},
    {"merge", "write the profile of a run whose launcher was killed"},
}};

constexpr std::array<std::string_view, 3> k_launching = {"record", "run", "simulate"};

template <std::size_t N>
bool among(std::string_view verb, const std::array<std::string_view, N>& verbs) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

void print_usage(std::FILE* to) {
  fmt::print(to, "{}", k_usage);
  for (const auto& [name, about] : k_native) fmt::print(to, "  {:<10} {}\n", name, about);
  if (const auto analysing = terrace::cli::python_verbs())
    for (const auto& [name, about] : *analysing) fmt::print(to, "  {:<10} {}\n", name, about);
  else
    fmt::print(to, "  more       verbs that analyse: python3 -m terrace --help lists them\n");
  fmt::print(to, "\nterrace VERB --help says more and has an example. TERRACE=off makes terrace vanish.\n");
}

// For scripts/command_line_page.py: man pages and completion are made of this, and of each verb's --describe.
void describe_verbs() {
  std::vector<terrace::cli::Verb> verbs;
  verbs.reserve(k_native.size());
  for (const auto& [name, about] : k_native) verbs.push_back({std::string(name), std::string(about)});
  if (const auto analysing = terrace::cli::python_verbs())
    verbs.insert(verbs.end(), analysing->begin(), analysing->end());
  fmt::print("{}\n", terrace::cli::description(verbs));
}

// Never throws: standard error may be a full disk.
void complain(const char* what) {
  std::fputs("terrace: ", stderr);
  std::fputs(what, stderr);
  std::fputs("\n", stderr);
}

// Files that are opened later do not take the place of standard streams that are closed: messages would go there.
// The program gets them as this process was given them.
void keep_standard_streams_apart() {
  for (int stream = 0; stream <= 2; ++stream)
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) [[maybe_unused]]
      const int taken = open("/dev/null", O_RDWR | O_CLOEXEC);
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_usage(stderr);
    return 2;
  }
  const std::string_view verb = argv[1];
  if (verb == "--help" || verb == "-h" || verb == "help") {
    print_usage(stdout);
    return 0;
  }
  if (verb == "--version") {
    fmt::print("{}", terrace::cli::version());
    return 0;
  }
  if (verb == "--describe") {
    describe_verbs();
    return 0;
  }
  if (verb == "--names") return terrace::cli::print_names(argc > 2 ? argv[2] : "");
  if (among(verb, k_launching)) {
    const auto options = terrace::cli::parse_launch(std::string(verb), argc - 1, argv + 1);
    return options ? terrace::cli::launch(*options) : 0;
  }
  if (verb == "replay") return terrace::cli::replay_verb(argc - 1, argv + 1);
  if (verb == "merge") return terrace::cli::merge_verb(argc - 1, argv + 1);
  if (verb == "machine") return terrace::cli::machine_verb(argc - 1, argv + 1);
  const auto analysing = terrace::cli::python_verbs();
  const auto asked = [&](const terrace::cli::Verb& known) { return known.name == verb; };
  if (!analysing || std::any_of(analysing->begin(), analysing->end(), asked))
    terrace::cli::become_python(argc, argv);  // which says itself when it has no such verb
  throw terrace::Error(terrace::Code::invalid,
                       fmt::format("there is no verb '{}'; terrace --help lists them", verb));
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams_apart();
  terrace::cli::take_size_limits_as_errors();
  try {
    return dispatch(argc, argv);
  } catch (const terrace::cli::NotStarted& error) {
    complain(error.what());
    return error.status();
  } catch (const terrace::Error& error) {
    complain(error.what());
    return error.code() == terrace::Code::invalid ? 2 : 1;
  } catch (const std::exception& error) {
    complain(error.what());
    return 1;
  }
}
