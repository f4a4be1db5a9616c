// SPDX-License-Identifier: Apache-2.0
// Defines and parses the options of the subcommands that run a program, `terrace record`, `run` and `simulate`,
// and of `terrace replay`, which runs a recording (a file of cache misses) instead. main() and replay call it.
// Machines, plans and budgets are read by session_builder.hpp.
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

// One configuration as the user states it, by the options themselves or by
// `--config "label=a machine=knl fast=1GiB"`.
struct ConfigurationOptions {
  std::string label;
  std::string machine;                  // name or file, with @COPIER optionally; "": this machine
  std::string budget;                   // "hbm=16GiB"
  std::string fast;                     // budget of the fastest kind alone
  std::string planner;                  // "": auto, or none if a plan is given
  std::string plan;                     // file; obeyed unchanged, unless refine_plan
  bool refine_plan = false;             // the planner replaces the given plan by one of its own during the run
  bool free_moves = false;              // transfers take no time and no bandwidth; in virtual time only
  std::string hints;                    // file
  std::vector<std::string> caches;      // "l3=640KiB"
  std::vector<std::string> core_times;  // of an instruction: "0.05ns", "psinv.*=0.08ns"; empty: the machine's
  std::string core_time_from;           // source of calibrated core times, or why there are none
  std::string cores = "1";              // a number, or "all"
  std::string memory;  // limit for each process (run) or the data (virtual time); the rest is in a file
  unsigned domain = 0;
};

struct LaunchOptions {
  std::string subcommand;
  ConfigurationOptions configuration;
  std::vector<ConfigurationOptions> configurations;  // of --config; `configuration` has their defaults then
  std::vector<std::string> phases;  // function names, "auto" or "markers"; empty: markers if the program has some
  std::string loop;                 // name of the main loop, or of its function; "": detected
  std::vector<std::string> definitions;  // of names in hints: "niter=75"
  bool exact = false;
  bool undo = false;                    // plans that slow the program down are undone
  std::uint32_t every = 1;              // one of so many iterations is observed, after the first two
  std::optional<double> sample_cycles;  // none: the collector's own
  std::string progress;                 // "": the plan's, or else the default
  std::string collector{observe::k_default_collector};
  std::string output;                    // profile; "": PROGRAM.JOB.terrace in the usual folder
  std::string misses;                    // file for the classified misses; "": not recorded
  std::string spill;                     // run: folder of the backing file of --memory; "": $TMPDIR or /var/tmp
  std::optional<double> report_every{};  // run, out-of-core: seconds between two reports; none: as on a terminal
  std::string intent;                    // run: ordering that data are placed by; "": a planner places data
  double watermark = memory::k_free_watermark;  // run: share of each place that orderings leave free
  bool eager = false;                           // run: --intent places pages at allocation, not at first touch
  std::vector<std::string> mpi_objects;         // run: places of the MPI library's memory, "cells=hbm0"
  std::string gauges;                           // run: file for Prometheus' textfile collector; "": none
  bool json = false;
  bool quiet = false;
  bool dry_run = false;       // run: print the steps only
  bool has_requests = false;  // an option other than --json and --quiet is given
  bool keep_journals = false;
  std::vector<std::string> command;      // the program and its arguments
  std::string functions;                 // folder for counts of each function, for terrace lab calibrate; "": none
  std::optional<std::string> calibrate;  // arguments of the calibration run, which fits one core time
  std::string native;            // uninstrumented build of the program, for calibration; "": PROGRAM.native
  std::string calibrate_on;      // machine file of this machine, for calibration; "": discovered
  std::string calibrate_stdin;   // standard input of calibration runs; "": nothing
  std::string calibrate_in;      // files copied into the folder of each calibration run; "": current folder
  int calibrate_status = 0;      // exit status of a successful calibration run
  std::string recording;         // replay: the recording
  std::uint64_t iterations = 0;  // replay: minimum of the main loop; the last recorded one is repeated
  bool profile = false;          // run, replay: profile and plan nothing, as record does

  [[nodiscard]] bool is_run() const { return subcommand == "run"; }
  [[nodiscard]] bool is_replay() const { return subcommand == "replay"; }
  // Returns whether core times are calibrated before the program runs.
  [[nodiscard]] bool calibrates() const { return calibrate || !native.empty(); }
};

// Returns the labels of the configurations; "" alone if there is only the one of the options.
std::vector<std::string> labels_of(const LaunchOptions& options);

// Parses the arguments behind the subcommand. Returns nullopt if help was requested, and printed. Throws
// Error{invalid}.
std::optional<LaunchOptions> parse_launch(const std::string& subcommand, int argc, char** argv);

}  // namespace terrace::cli
