// Parsing of the launching verbs' options with CLI11. See options.hpp.
#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/option_pairs.hpp"
#include "cli/parse.hpp"
#include "cli/spill_option.hpp"
#include "core/error.hpp"
#include "strategy/planner.hpp"

namespace terrace::cli {

namespace {

std::string names_in_words(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<std::string_view> names_of(const auto& variants) {
  std::vector<std::string_view> names;
  for (const auto* variant : variants) names.push_back(variant->name());
  return names;
}

struct VerbText {
  const char* name;
  const char* about;
  const char* example;
};

constexpr VerbText k_verbs[] = {
    {"record", "run a program and write its profile",
     "Example:\n"
     "  terrace record -o cg.terrace -- ./cg --class S\n"
     "The program must be built with terrace-cc and its sisters for accesses to be seen."},
    {"run", "run a program with its data placed",
     "Examples:\n  terrace run --plan plan.toml -- ./app\n  terrace run --fast 16GiB -- mpirun -n 4 ./app\n"
     "  terrace run --memory 4GiB --spill /scratch -- ./app   more data than memory: the rest is in a file\n"
     "  terrace run --intent bandwidth -- ./app               large data by an ordering of the machine"},
    {"simulate", "run a program in virtual time on a machine file",
     "Examples:\n  terrace simulate --machine unimem-bw2 --fast 64MiB -- ./cg --class W\n  terrace simulate "
     "--machine unimem-lat4 --config 'label=slow planner=slow-only' --config 'label=auto fast=8MiB' -- ./cg"},
    {"replay", "price a recording of a program's misses: what simulate would say, much sooner",
     "Examples:\n"
     "  terrace simulate --misses cg.misses --machine unimem-bw2 -- ./cg --class W\n"
     "  terrace replay cg.misses --machine unimem-lat4 --fast 64MiB\n"
     "The machine's caches must be those that were recorded (--cache makes them so); all else may differ."},
};

const VerbText& text_of(const std::string& verb) {
  for (const auto& text : k_verbs)
    if (verb == text.name) return text;
  throw Error(Code::invalid, "terrace " + verb + " does not launch programs");
}

// What has to be whole follows every iteration.
std::uint32_t followed_every(const std::optional<std::uint32_t>& given, const LaunchOptions& options) {
  constexpr std::uint32_t k_default = 16;
  const char* const whole = !options.misses.empty() ? "--misses" : options.exact ? "--exact" : nullptr;
  if (given && *given > 1 && whole)
    throw Error(Code::invalid, "--every " + std::to_string(*given) + " leaves iterations out and " + whole +
                                   " keeps all of them; give one of the two");
  return given.value_or(whole ? 1 : k_default);
}

// Says what is wrong in plain words, where the library's own check writes the largest number there is.
CLI::Validator number(bool zero_too) {
  const auto problem = [zero_too](const std::string& text) -> std::string {
    char* end = nullptr;
    const auto value = std::strtod(text.c_str(), &end);
    const bool is_number = end != text.c_str() && *end == '\0' && value < 1e15;
    if (is_number && (value > 0 || (zero_too && value == 0))) return {};
    return "'" + text + "' is not " + (zero_too ? "0 or " : "") + "a positive number";
  };
  return {problem, zero_too ? "NONNEGATIVE" : "POSITIVE"};
}

CLI::Validator number_within(double least, double most) {
  const auto problem = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const auto value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && value >= least && value <= most) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return {problem, fmt::format("{} to {}", least, most)};
}

// --calibrate --native FILE would take --native for the program's arguments, and FILE for the program.
CLI::Validator no_option_of(const CLI::App& app) {
  const auto problem = [&app](const std::string& text) -> std::string {
    const bool option = text == "--" || (text.starts_with("--") && app.get_option_no_throw(text) != nullptr);
    if (!option) return {};
    return "needs the program's arguments first; write --calibrate '' for none";
  };
  return {problem, ""};
}

void add_calibration(CLI::App& app, LaunchOptions& options) {
  app.add_option("--native", options.native,
                 "first fit the core time of the program's functions here: the same program as the plain compiler "
                 "makes it, or its folder; it runs with the same arguments")
      ->type_name("FILE|FOLDER")
      ->excludes("--core-time");
  app.add_option(
         "--calibrate", options.calibrate,
         "fit one core time with other arguments, for programs that run too long: those of a size that the "
         "caches hold, '--class S', '' for none; without --native the plain program is PROGRAM.native")
      ->type_name(k_passed_on)
      ->check(no_option_of(app))
      ->excludes("--core-time");
  app.add_option("--calibrate-on", options.calibrate_on,
                 "--native: file of this machine, as terrace machine measure wrote it; default: what it says of "
                 "itself")
      ->type_name("FILE");
  app.add_option("--calibrate-stdin", options.calibrate_stdin,
                 "--native: what its runs read from standard input; default: nothing")
      ->type_name("FILE");
  app.add_option("--calibrate-in", options.calibrate_in,
                 "--native: each of its runs gets a folder of its own with a copy of these files; default: they "
                 "run in the current folder")
      ->type_name("FOLDER");
  app.add_option("--calibrate-status", options.calibrate_status,
                 "--native: the exit status of a run that ended well; default 0")
      ->check(number_within(0, 255));
}

bool yes_or_no(const std::string& key, const std::string& value) {
  if (value == "yes" || value == "no") return value == "yes";
  throw Error(Code::invalid, "--config: '" + key + "=" + value + "' is neither yes nor no");
}

}  // namespace

ConfigurationOptions parse_configuration(const std::string& text, const ConfigurationOptions& defaults) {
  auto configuration = defaults;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    const auto value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    if (value.empty()) throw Error(Code::invalid, "--config: '" + word + "' is not key=value");
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
    else if (key == "better-plan")
      configuration.better_plan = yes_or_no(key, value);
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
                                     "'; there are label, machine, budget, fast, planner, plan, better-plan, "
                                     "free-moves, hints, cores, memory");
  }
  if (configuration.label.empty())
    throw Error(Code::invalid, "--config '" + text + "' needs a label=NAME of its own");
  return configuration;
}

std::vector<std::string> labels_of(const LaunchOptions& options) {
  if (options.configurations.empty()) return {""};
  std::vector<std::string> labels;
  labels.reserve(options.configurations.size());
  for (const auto& one : options.configurations) labels.push_back(one.label);
  return labels;
}

std::optional<LaunchOptions> parse_launch(const std::string& verb, int argc, char** argv) {
  const auto& text = text_of(verb);
  LaunchOptions options;
  options.verb = verb;
  CLI::App app(text.about, "terrace " + verb);
  app.footer(text.example);
  const bool replayed = verb == "replay";
  if (replayed)
    app.add_option("recording", options.recording, "what record or simulate wrote with --misses")
        ->required()
        ->type_name("FILE");
  else
    app.prefix_command(true);
  if (replayed)
    app.add_option("--iterations", options.iterations,
                   "of the main loop: where fewer were recorded the last one is repeated");
  app.get_formatter()->column_width(34);
  auto& configuration = options.configuration;
  const bool simulated = verb != "run";
  app.add_option("--machine,-m", configuration.machine,
                 "machine file or name of a shipped one; default: this machine")
      ->type_name("FILE|NAME");
  app.add_option("--output,-o", options.output,
                 std::string("profile to write; one that is there is replaced at the end. Default: a new ") +
                     (replayed ? "FILE" : "PROGRAM") + ".JOB.terrace")
      ->type_name("FILE");
  if (!replayed)
    app.add_option(
           "--phases", options.phases,
           "functions whose entry begins a phase, the first an iteration: qualified, a unique end, the symbol, or "
           "a pattern with * and ?; or auto: what repeats in the program's loops and calls; or markers: its own; "
           "default: markers if it has some, else auto")
        ->delimiter(',');
  if (!replayed)
    app.add_option(
           "--loop", options.loop,
           "the main loop: as show names it, FUNCTION:LINE; its file and line, solve.c:120; its function, as "
           "--phases takes it; or a pattern with * and ?")
        ->type_name("NAME");
  app.add_option("--domain", configuration.domain, "domain that the program runs in")->capture_default_str();
  app.add_option("--sample", options.sample_cycles,
                 "cycles between two samples of the collector; default: the collector's own")
      ->check(number(false));
  app.add_option("--progress", options.progress,
                 "what plans' segments begin by: " + names_in_words(names_of(observe::progresses())))
      ->default_str("the plan's, else " + (verb == "run"
                                               ? std::string("sentinel, or timer where no pages can be watched")
                                               : std::string(observe::k_default_progress)));
  app.add_option(
         "--collector", options.collector,
         "who fills the profile that plans are made of: " + names_in_words(names_of(observe::collectors())))
      ->capture_default_str();
  std::optional<std::uint32_t> every;
  if (verb == "record") {
    app.add_option("--every", every,
                   "follow the main loop's first two iterations, then one of every N; 1 for all; default 16")
        ->check(number(false));
  } else {
    app.add_option("--budget,-b", configuration.budget, "bytes allowed of each kind: hbm=16GiB,cxl=64GiB")
        ->type_name("KIND=SIZE");
    app.add_option("--fast,-f", configuration.fast, "bytes allowed of the fastest kind")->type_name("SIZE");
    app.add_option("--planner,-p", configuration.planner,
                   "who chooses the places: " + names_in_words(strategy::planner_names()) +
                       (simulated ? ", " + names_in_words(strategy::simulation_only_names()) : ""))
        ->default_str(std::string(strategy::k_default_variant));
    app.add_option("--plan", configuration.plan,
                   "obey this plan as it is, from the first instruction to the last, instead of learning one")
        ->type_name("FILE");
    app.add_flag("--better-plan", configuration.better_plan,
                 "let the planner (--planner, default auto) better the plan of --plan while the program runs");
    app.add_option(
           "--hints", configuration.hints,
           "file that says how often objects are referred to, for where they are at first, and which phases "
           "use them")
        ->type_name("FILE");
    app.add_option("--let", options.lets,
                   "value of a name in the hints' expressions: niter=75; goes before the file's")
        ->allow_extra_args(false);
  }
  if (verb == "run") {
    options.undo = true;
    app.add_flag("--dry-run", options.dry_run, "say what the run would do, and run nothing");
    app.add_flag("--profile", options.profile,
                 "profile the program on this machine and plan nothing; without hooks its pages are watched");
    app.add_flag("--keep-plan{false}", options.undo,
                 "keep to the plan also where it makes the program slower; without, such a plan is undone");
    app.add_option("--memory", configuration.memory,
                   fmt::format("memory that each process may have, 4GiB, at least {}: what does not fit is in a "
                               "file of --spill, and comes in before it is needed",
                               format(min_memory(verb))))
        ->type_name("SIZE");
    app.add_option("--spill", options.spill, "folder of that file")
        ->type_name("FOLDER")
        ->default_str("$TMPDIR, else /var/tmp");
    app.add_option("--report-every", options.report_every,
                   "with --memory, say every so many seconds how it goes; 0: never")
        ->type_name("SECONDS")
        ->check(number(true))
        ->default_str("10 on a terminal, else 0");
    app.add_option("--intent", options.intent,
                   "place the program's large data by an ordering of the machine: bandwidth, latency, capacity, "
                   "normal, or one of the machine file's; terrace machine orderings shows them. Nothing is "
                   "learned then, and no profile made")
        ->type_name("NAME");
    app.add_option(
           "--mark", options.mark,
           "share of each place that data by intent leave free; serves --intent and the calls of terrace.h, "
           "and nothing else")
        ->type_name("SHARE")
        ->check(number_within(0, 0.95))
        ->capture_default_str();
    app.add_flag("--eager", options.eager,
                 "place data by intent when they are allocated, not when they are first touched; serves --intent "
                 "and the calls of terrace.h, and nothing else");
  }
  std::vector<std::string> configurations;
  if (simulated) {
    app.add_option("--cache", configuration.caches, "another size for a cache: l3=640KiB");
    app.add_option("--core-time", configuration.core_times,
                   "core time of an instruction: 0.05ns; of a function: 'randlc()=0.6ns'; of the phases that a "
                   "pattern matches: 'psinv.*=0.08ns', the first one decides; of a file's lines, as terrace lab "
                   "calibrate -o writes them: @FILE; default: the machine's")
        ->allow_extra_args(false);
    if (!replayed) add_calibration(app, options);
    app.add_option("--cores", configuration.cores, "cores that the program's thread stands for, or all")
        ->capture_default_str();
    if (verb == "simulate")
      app.add_flag(
          "--undo", options.undo,
          "as a real run does: begin with all data in slow memory, and undo a plan that makes the program "
          "slower");
    app.add_flag("--exact", options.exact, "keep the exact counters of every iteration, too");
  }
  if (simulated && !replayed)
    app.add_option("--misses", options.misses, "also record the classified misses there, for terrace replay")
        ->type_name("FILE");
  if (verb == "simulate")
    app.add_option("--functions", options.functions,
                   "write each function's instructions, hits and misses into this folder");
  if (replayed)
    app.add_flag("--profile", options.profile, "profile every iteration and plan nothing, as terrace record does");
  if (simulated && verb != "record")
    app.add_option("--memory", configuration.memory,
                   fmt::format("memory that the program's data may have, 4GiB, at least {}: what does not fit is "
                               "in the machine's file ([[file]]), and comes in before it is needed",
                               format(min_memory(verb))))
        ->type_name("SIZE");
  if (simulated && verb != "record")
    app.add_flag("--free-moves", configuration.free_moves,
                 "let moves take no time and no bandwidth: what they cost is the difference");
  if (simulated)
    app.add_option("--config", configurations,
                   "a configuration of this run; several are priced at once: 'label=x machine=m fast=1GiB'");
  if (!simulated)
    app.add_option(
           "--gauges", options.gauges,
           "write who holds how much of each place there, about each second, for the textfile collector of "
           "Prometheus' node exporter; the file is removed when the run ends")
        ->type_name("FILE.prom");
  app.add_flag("--json", options.json, "print the summary as JSON on standard error");
  app.add_flag("--quiet,-q", options.quiet, "print no summary");
  app.add_flag("--keep-journals", options.keep_journals, "leave the journals beside the profile");
  if (!parse_words(app, verb, argc, argv)) return std::nullopt;
  check_pairs(app, verb);
  for (const auto* option : app.get_options())
    options.asks =
        options.asks || (option->count() > 0 && option->get_name() != "--json" && option->get_name() != "--quiet");
  for (const auto& one : configurations) options.configurations.push_back(parse_configuration(one, configuration));
  if (simulated) {
    if (configurations.empty()) check_over_file(configuration);
    for (const auto& one : options.configurations) check_over_file(one);
  }
  if (replayed) return options;
  if (verb == "record") options.every = followed_every(every, options);
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  if (options.command.empty())
    throw Error(Code::invalid,
                "no program to " + verb + "; write: terrace " + verb + " [options] -- PROGRAM [arguments]");
  if (options.command.front().starts_with("-"))
    throw Error(Code::invalid, "unknown option " + options.command.front() + "; see terrace " + verb + " --help");
  return options;
}

}  // namespace terrace::cli
