// Declares the options of the launching subcommands in CLI11, by groups of the help, and parses them. See
// options.hpp.
#include "cli/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cli/option_conflicts.hpp"
#include "cli/parse.hpp"
#include "cli/spill_option.hpp"
#include "core/error.hpp"
#include "strategy/planner.hpp"

namespace terrace::cli {

namespace {

std::string join_names(const std::vector<std::string_view>& names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<std::string_view> names_of(const auto& variants) {
  std::vector<std::string_view> names;
  for (const auto* variant : variants) names.push_back(variant->name());
  return names;
}

// Groups of the help, in the order in which it lists them.
constexpr const char* k_common = "Common options";
constexpr const char* k_phases = "Phases and loops";
constexpr const char* k_planning = "Planning";
constexpr const char* k_profiling = "Profiling";
constexpr const char* k_out_of_core = "Out-of-core memory";
constexpr const char* k_by_intent = "Placement by intent";
constexpr const char* k_simulation = "Simulation";
constexpr const char* k_calibration = "Calibration of core times";
constexpr const char* k_advanced = "Advanced options";

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
  throw Error(Code::invalid, "terrace " + subcommand + " does not launch programs");
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

// Checks for a positive number. The library's own check would print the largest double in its message.
CLI::Validator positive_number(bool zero_too) {
  const auto problem = [zero_too](const std::string& text) -> std::string {
    char* end = nullptr;
    const auto value = std::strtod(text.c_str(), &end);
    const bool is_number = end != text.c_str() && *end == '\0' && value < 1e15;
    if (is_number && (value > 0 || (zero_too && value == 0))) return {};
    return "'" + text + "' is not " + (zero_too ? "0 or " : "") + "a positive number";
  };
  return {problem, zero_too ? "NONNEGATIVE" : "POSITIVE"};
}

CLI::Validator number_between(double least, double most) {
  const auto problem = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const auto value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && value >= least && value <= most) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return {problem, fmt::format("{} to {}", least, most)};
}

// Refuses options of the launcher as a value: in `--calibrate --native FILE`, --calibrate would take --native as
// the program's arguments, and FILE would become the program.
CLI::Validator no_option_of(const CLI::App& app) {
  const auto problem = [&app](const std::string& text) -> std::string {
    const bool option = text == "--" || (text.starts_with("--") && app.get_option_no_throw(text) != nullptr);
    if (!option) return {};
    return "needs the program's arguments first; write --calibrate '' for none";
  };
  return {problem, ""};
}

void begin_group(CLI::App& app, const char* group) { app.option_defaults()->group(group); }

void add_common(CLI::App& app, LaunchOptions& options) {
  auto& configuration = options.configuration;
  begin_group(app, k_common);
  app.get_help_ptr()->group(k_common);
  if (options.is_replay()) {
    app.add_option("recording", options.recording, "recording that record or simulate wrote with --misses")
        ->required()
        ->type_name("FILE");
    app.add_option(
        "--iterations", options.iterations,
        "replay at least this many iterations of the main loop; repeat the last recorded one as needed");
  }
  app.add_option("--machine,-m", configuration.machine,
                 "machine file, or the name of a shipped one; default: this machine")
      ->type_name("FILE|NAME");
  app.add_option(
         "--output,-o", options.output,
         std::string("profile to write; an existing profile is replaced when the run ends; default: a new ") +
             (options.is_replay() ? "FILE" : "PROGRAM") + ".JOB.terrace")
      ->type_name("FILE");
  if (options.subcommand != "record") {
    app.add_option("--fast,-f", configuration.fast, "limit the fastest kind of memory to this size")
        ->type_name("SIZE");
    app.add_option("--budget,-b", configuration.budget,
                   "limit each kind of memory to a size, such as hbm=16GiB,cxl=64GiB")
        ->type_name("KIND=SIZE");
    app.add_option("--planner,-p", configuration.planner,
                   "choose placements with this planner: " + join_names(strategy::planner_names()) +
                       (options.is_run() ? "" : ", " + join_names(strategy::simulated_names())))
        ->type_name("NAME")
        ->default_str(std::string(strategy::k_default_variant));
    app.add_option("--plan", configuration.plan,
                   "obey this plan unchanged for the whole run, instead of learning one")
        ->type_name("FILE");
  }
  if (options.is_run()) app.add_flag("--dry-run", options.dry_run, "print what the run would do; run nothing");
  app.add_flag("--json", options.json, "print the summary as JSON on standard error");
  app.add_flag("--quiet,-q", options.quiet, "print no summary");
}

void add_out_of_core(CLI::App& app, LaunchOptions& options) {
  auto& configuration = options.configuration;
  begin_group(app, k_out_of_core);
  const auto minimum = format(min_memory(options.subcommand));
  app.add_option(
         "--memory", configuration.memory,
         options.is_run()
             ? fmt::format(
                   "limit each process to this much memory, such as 4GiB, at least {}; keep the rest of its "
                   "data in a file (--spill) and prefetch it",
                   minimum)
             : fmt::format(
                   "limit the program's data to this much memory, such as 4GiB, at least {}; keep the rest "
                   "in the machine's file ([[file]]) and prefetch it",
                   minimum))
      ->type_name("SIZE");
  if (!options.is_run()) return;
  app.add_option("--spill", options.spill, "keep the file of --memory in this folder")
      ->type_name("FOLDER")
      ->default_str("$TMPDIR, else /var/tmp");
  app.add_option("--report-every", options.report_every,
                 "report data, file traffic and waits of --memory at this interval; 0: never")
      ->type_name("SECONDS")
      ->check(positive_number(true))
      ->default_str("10 on a terminal, else 0");
}

void add_by_intent(CLI::App& app, LaunchOptions& options) {
  begin_group(app, k_by_intent);
  app.add_option("--intent", options.intent,
                 "place the program's large data by this ordering of the machine: bandwidth, latency, capacity, "
                 "normal, or one of the machine file (terrace machine orderings lists them); learn nothing and "
                 "write no profile")
      ->type_name("NAME");
  app.add_option("--watermark,--mark", options.watermark,
                 "fill level to leave free in each memory; applies only to --intent and the calls of terrace.h")
      ->type_name("SHARE")
      ->check(number_between(0, 0.95))
      ->capture_default_str();
  app.add_flag(
      "--eager", options.eager,
      "place data at allocation, not at first touch; applies only to --intent and the calls of terrace.h");
}

void add_phases(CLI::App& app, LaunchOptions& options) {
  begin_group(app, k_phases);
  app.add_option(
         "--phases", options.phases,
         "begin a phase at the entry of these functions, and an iteration at the first: qualified names, unique "
         "endings, symbols, or patterns with * and ?; auto: detect repetition in the program's loops and calls; "
         "markers: use the program's own; default: markers if it has some, else auto")
      ->delimiter(',');
  app.add_option("--loop", options.loop,
                 "use this main loop: FUNCTION:LINE as terrace show prints it, FILE:LINE such as solve.c:120, its "
                 "function as --phases takes it, or a pattern with * and ?")
      ->type_name("NAME");
}

void add_planning(CLI::App& app, LaunchOptions& options) {
  auto& configuration = options.configuration;
  begin_group(app, k_planning);
  app.add_flag("--refine-plan,--better-plan", configuration.refine_plan,
               "let the planner (--planner, default auto) refine the plan of --plan during the run");
  if (options.is_run())
    app.add_flag("--keep-plan{false}", options.undo,
                 "keep the plan even if it slows the program down; by default such a plan is undone");
  if (options.subcommand == "simulate")
    app.add_flag(
        "--undo", options.undo,
        "behave as a real run: begin with all data in slow memory, and undo a plan that slows the program "
        "down");
  app.add_option(
         "--hints", configuration.hints,
         "read from this file how often objects are referenced, for initial placement, and which phases use "
         "them")
      ->type_name("FILE");
  app.add_option("--define,--let", options.definitions,
                 "define a name of the hints' expressions, such as niter=75; overrides the value in the file")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_profiling(CLI::App& app, LaunchOptions& options, std::optional<std::uint32_t>& every) {
  begin_group(app, k_profiling);
  if (options.is_run())
    app.add_flag(
        "--profile", options.profile,
        "profile the program on this machine and plan nothing; watch the pages of an uninstrumented program");
  if (options.is_replay())
    app.add_flag("--profile", options.profile, "profile every iteration and plan nothing, as terrace record does");
  app.add_option(
         "--collector", options.collector,
         "fill the profile for the planner with this collector: " + join_names(names_of(observe::collectors())))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--sample", options.sample_cycles,
                 "cycles between two samples of the collector; default: the collector's own")
      ->check(positive_number(false));
  if (options.subcommand == "record")
    app.add_option("--every", every,
                   "observe the first two iterations of the main loop, then one of every N; 1: all; default 16")
        ->check(positive_number(false));
  app.add_option(
         "--progress", options.progress,
         "begin the segments of plans by this measure of progress: " + join_names(names_of(observe::progresses())))
      ->type_name("NAME")
      ->default_str("the plan's, else " + (options.is_run()
                                               ? std::string("sentinel, or timer where no pages can be watched")
                                               : std::string(observe::k_default_progress)));
}

void add_simulation(CLI::App& app, LaunchOptions& options, std::vector<std::string>& configurations) {
  auto& configuration = options.configuration;
  begin_group(app, k_simulation);
  app.add_option("--config", configurations,
                 "add a configuration, such as 'label=x machine=m fast=1GiB'; several are simulated in one run");
  app.add_option("--cores", configuration.cores, "cores that the program's thread stands for, or all")
      ->capture_default_str();
  app.add_option("--cache", configuration.caches, "resize a cache, such as l3=640KiB")->type_name("CACHE=SIZE");
  app.add_option(
         "--core-time", configuration.core_times,
         "core time of an instruction: 0.05ns; of a function: 'randlc()=0.6ns'; of the phases that match a "
         "pattern: 'psinv.*=0.08ns', the first match counts; from a file that terrace lab calibrate -o wrote: "
         "@FILE; default: the machine's")
      ->allow_extra_args(false);
  if (options.subcommand != "record")
    app.add_flag("--free-moves", configuration.free_moves,
                 "let moves take no time and no bandwidth, to find out what they cost");
  app.add_flag("--exact", options.exact, "keep the exact counters of every iteration as well");
  if (!options.is_replay())
    app.add_option("--misses", options.misses, "record the classified misses in this file, for terrace replay")
        ->type_name("FILE");
  if (options.subcommand == "simulate")
    app.add_option("--functions", options.functions,
                   "write the instructions, hits and misses of each function into this folder");
}

void add_calibration(CLI::App& app, LaunchOptions& options) {
  begin_group(app, k_calibration);
  app.add_option("--native", options.native,
                 "first calibrate the core time of each function: run this uninstrumented build of the program (a "
                 "file, or its folder) on this machine, with the same arguments")
      ->type_name("FILE|FOLDER")
      ->excludes("--core-time");
  app.add_option(
         "--calibrate", options.calibrate,
         "calibrate one core time with these arguments instead, for programs that run too long: a size that "
         "fits in the caches, such as '--class S'; '' for none; without --native the uninstrumented build "
         "is PROGRAM.native")
      ->type_name(k_forwarded_arguments)
      ->check(no_option_of(app))
      ->excludes("--core-time");
  app.add_option(
         "--calibrate-on", options.calibrate_on,
         "machine file of this machine, as terrace machine measure wrote it; default: discover the machine")
      ->type_name("FILE");
  app.add_option("--calibrate-stdin", options.calibrate_stdin,
                 "standard input of the calibration runs; default: nothing")
      ->type_name("FILE");
  app.add_option("--calibrate-in", options.calibrate_in,
                 "run each calibration in a new folder with a copy of the files of this one; default: run in the "
                 "current folder")
      ->type_name("FOLDER");
  app.add_option("--calibrate-status", options.calibrate_status,
                 "exit status of a successful calibration run; default 0")
      ->check(number_between(0, 255));
}

void add_advanced(CLI::App& app, LaunchOptions& options) {
  begin_group(app, k_advanced);
  app.add_option("--domain", options.configuration.domain, "run the program in this domain of the machine")
      ->capture_default_str();
  if (options.is_run())
    app.add_option("--gauges", options.gauges,
                   "export the memory that each process holds in each place to this file, about every second, for "
                   "the textfile collector of Prometheus' node exporter; the file is removed when the run ends")
        ->type_name("FILE.prom");
  app.add_flag("--keep-journals", options.keep_journals, "keep the journals after the profile is written");
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

std::optional<LaunchOptions> parse_launch(const std::string& subcommand, int argc, char** argv) {
  const auto& text = text_of(subcommand);
  LaunchOptions options;
  options.subcommand = subcommand;
  options.undo = options.is_run();
  std::optional<std::uint32_t> every;
  std::vector<std::string> configurations;
  CLI::App app(text.about, "terrace " + subcommand);
  app.footer(text.footer);
  app.prefix_command(!options.is_replay());
  const bool is_record = subcommand == "record";
  add_common(app, options);
  if (!is_record) add_out_of_core(app, options);
  if (options.is_run()) add_by_intent(app, options);
  if (!options.is_replay()) add_phases(app, options);
  if (!is_record) add_planning(app, options);
  add_profiling(app, options, every);
  if (!options.is_run()) add_simulation(app, options, configurations);
  if (is_record || subcommand == "simulate") add_calibration(app, options);
  add_advanced(app, options);
  if (!parse_arguments(app, subcommand, argc, argv)) return std::nullopt;
  check_conflicts(app, subcommand);
  for (const auto* option : app.get_options())
    options.has_requests = options.has_requests || (option->count() > 0 && option->get_name() != "--json" &&
                                                    option->get_name() != "--quiet");
  for (const auto& one : configurations)
    options.configurations.push_back(parse_configuration(one, options.configuration));
  if (!options.is_run()) {
    if (configurations.empty()) check_out_of_core(options.configuration);
    for (const auto& one : options.configurations) check_out_of_core(one);
  }
  if (options.is_replay()) return options;
  if (is_record) options.every = observed_every(every, options);
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
