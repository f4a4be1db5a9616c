// SPDX-License-Identifier: Apache-2.0
// Declares each option of run, record, simulate and replay with its text, type and checks, in a function for each
// group of the help. See option_groups.hpp.
#include "cli/option_groups.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/parse.hpp"
#include "cli/spill_option.hpp"
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
constexpr const char* k_out_of_core = "Out-of-core memory";
constexpr const char* k_by_intent = "Placement by intent";
constexpr const char* k_mpi = "MPI programs";
constexpr const char* k_phases = "Phases and loops";
constexpr const char* k_planning = "Planning";
constexpr const char* k_profiling = "Profiling";
constexpr const char* k_simulation = "Simulation";
constexpr const char* k_calibration = "Calibration of core times";
constexpr const char* k_advanced = "Advanced options";

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

CLI::Validator number_between(double minimum, double maximum) {
  const auto problem = [=](const std::string& text) -> std::string {
    char* end = nullptr;
    const auto value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && value >= minimum && value <= maximum) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, minimum, maximum);
  };
  return {problem, fmt::format("{} to {}", minimum, maximum)};
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
                       (options.is_run() ? "" : ", " + join_names(strategy::simulation_only_names())))
        ->type_name("NAME")
        ->default_str(std::string(strategy::k_default_variant));
    app.add_option(
           "--plan", configuration.plan,
           "obey this plan unchanged for the whole run, instead of learning one; a folder has the plans of an "
           "MPI job (rank-0.toml, ...)")
        ->type_name("FILE|FOLDER");
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
  app.add_option(
         "--watermark,--mark", options.watermark,
         "share of each memory to leave free (0.1: fill to 90 %); applies only to --intent and the calls of "
         "terrace.h")
      ->type_name("SHARE")
      ->check(number_between(0, 0.95))
      ->capture_default_str();
  app.add_flag(
      "--eager", options.eager,
      "place data at allocation, not at first touch; applies only to --intent and the calls of terrace.h");
}

void add_mpi(CLI::App& app, LaunchOptions& options) {
  begin_group(app, k_mpi);
  app.add_option(
         "--mpi-objects", options.mpi_objects,
         "place the memory that the MPI library allocates for itself, by kind: eager, cells, copy_buffers, "
         "pools, fifos, windows, alloc_mem; a place is a memory that terrace machine lists, by its name (hbm0) or "
         "by "
         "its technology (hbm)")
      ->type_name("KIND=PLACE")
      ->delimiter(',')
      ->allow_extra_args(false);
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

}  // namespace

void add_launch_options(CLI::App& app, LaunchOptions& options, UncheckedOptions& unchecked) {
  const bool is_record = options.subcommand == "record";
  add_common(app, options);
  if (!is_record) add_out_of_core(app, options);
  if (options.is_run()) add_by_intent(app, options);
  if (options.is_run()) add_mpi(app, options);
  if (!options.is_replay()) add_phases(app, options);
  if (!is_record) add_planning(app, options);
  add_profiling(app, options, unchecked.every);
  if (!options.is_run()) add_simulation(app, options, unchecked.configurations);
  if (is_record || options.subcommand == "simulate") add_calibration(app, options);
  add_advanced(app, options);
}

}  // namespace terrace::cli
