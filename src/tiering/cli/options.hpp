// The command line of the verbs that launch a program, record, run and simulate, and of replay, which does as if.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.hpp"
#include "memory/ordered/ordered_fill.hpp"
#include "observe/collector_variant.hpp"
#include "observe/progress_variant.hpp"

namespace terrace::cli {

// One configuration as the user describes it: the options themselves, or `--config "label=a machine=knl
// fast=1GiB"`.
struct ConfigurationOptions {
  std::string label;
  std::string machine;                  // name or file, and a copier behind @; "" for the running machine
  std::string budget;                   // "hbm=16GiB"
  std::string fast;                     // shorthand for the fastest kind
  std::string planner;                  // empty: auto, or nobody where a plan is given
  std::string plan;                     // file; obeyed as it is, unless the planner is to better it
  bool better_plan = false;             // the planner makes a plan of its own under the one of the file
  bool free_moves = false;              // transfers take no time and no bandwidth; in virtual time only
  std::string hints;                    // file
  std::vector<std::string> caches;      // "l3=640KiB"
  std::vector<std::string> core_times;  // of an instruction: "0.05ns", "psinv.*=0.08ns"; none for the machine's
  std::string core_time_from;           // what they rest on, or why there are none, where they were calibrated
  std::string cores = "1";              // a number, or "all"
  std::string memory;                   // of each process (run), of the data (virtual time); the rest is in a file
  unsigned domain = 0;
};

struct LaunchOptions {
  std::string verb;
  ConfigurationOptions configuration;
  std::vector<ConfigurationOptions>
      configurations;               // of --configuration; then `configuration` gives their defaults
  std::vector<std::string> phases;  // function names, "auto" or "markers"; none: markers, if the program has some
  std::string loop;                 // the name of the main loop, or of its function; "": found
  std::vector<std::string> lets;    // "niter=75"
  bool exact = false;
  bool undo = false;                    // plans that make the program slower are undone
  std::uint32_t every = 1;              // of the loop's iterations are followed, after the first two
  std::optional<double> sample_cycles;  // none: the collector's own
  std::string progress;                 // "" for the plan's, or else the default
  std::string collector{observe::k_default_collector};
  std::string output;  // "" = PROGRAM.JOB.terrace here
  std::string misses;  // where to record the classified misses; "" for nowhere
  std::string spill;   // run: the folder of the file for what --memory has no room for; "": the usual one
  std::optional<double> report_every{};  // run, with a file: seconds between two lines; none: on a terminal
  std::string intent;                    // run: data by the ordering of this intent; "" for whoever plans
  double mark = memory::k_free_watermark;  // run: the share of each place that orderings leave free
  bool eager = false;                    // run: what is placed by intent comes at once
  std::string gauges;                    // run: file for Prometheus' textfile collector; "" for none
  bool json = false;
  bool quiet = false;
  bool dry_run = false;  // run: say what it would do
  bool asks = false;     // has an option that is not about what is said
  bool keep_journals = false;
  std::vector<std::string> command;      // the program and its arguments
  std::string functions;                 // folder for what each function does, for terrace lab calibrate; "": none
  std::optional<std::string> calibrate;  // arguments of another size: a core time is fitted there
  std::string native;                    // the program without hooks, for calibration; "": PROGRAM.native
  std::string calibrate_on;              // then: file of the machine at hand; "": what it says of itself
  std::string calibrate_stdin;           // then: standard input of its runs; "": nothing
  std::string calibrate_in;              // then: files of each run's own folder; "": the current folder
  int calibrate_status = 0;              // then: of a run that ended well
  std::string recording;                 // replay: what is replayed instead
  std::uint64_t iterations = 0;          // replay: of the main loop, at least; the last recorded one is repeated
  bool profile = false;                  // replay: profile every iteration and plan nothing, as record does

  // Whether core times are fitted before the program runs.
  [[nodiscard]] bool calibrates() const { return calibrate || !native.empty(); }
};

// Of its configurations; "" where there are none.
std::vector<std::string> labels_of(const LaunchOptions& options);

// Parses the arguments after the verb. Returns nothing when help was asked for and printed. Throws Error{invalid}.
std::optional<LaunchOptions> parse_launch(const std::string& verb, int argc, char** argv);

}  // namespace terrace::cli
