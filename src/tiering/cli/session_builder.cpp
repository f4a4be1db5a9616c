// SPDX-License-Identifier: Apache-2.0
// Checks and resolves the options of run, record, simulate and replay, and builds the session from them. See
// session_builder.hpp.
#include "cli/session_builder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cli/budget_option.hpp"
#include "cli/calibration_cache.hpp"
#include "cli/core_time_option.hpp"
#include "cli/intent.hpp"
#include "cli/machine_presence.hpp"
#include "cli/mpi_objects_option.hpp"
#include "cli/mpi_programs.hpp"
#include "cli/name_resolution.hpp"
#include "cli/spill_option.hpp"
#include "cli/user_errors.hpp"
#include "core/mpi_rank.hpp"
#include "core/rounding.hpp"
#include "core/segment_name.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/file/derived_machines.hpp"
#include "machine/file/machine_file.hpp"
#include "machine/ordering.hpp"
#include "observe/perf/names/memory_events.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"
#include "sim/engine/memory_cache.hpp"
#include "sim/engine/virtual_machine.hpp"
#include "sim/recording/recording_format.hpp"
#include "strategy/files/hints_file.hpp"
#include "strategy/files/plan_file.hpp"
#include "strategy/planner.hpp"

namespace terrace::cli {

namespace {

machine::Machine load_machine(const std::string& name) {
  return name.empty() ? machine::discover() : machine::load_machine(name).machine;
}

double cores_of(const std::string& text, const machine::Initiator& initiator, const std::string& machine) {
  if (text == "all") return initiator.cores;
  char* end = nullptr;
  const auto cores = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(cores > 0))
    throw Error(Code::invalid, "--cores: '" + text + "' is neither a positive number nor all");
  if (cores > initiator.cores)
    throw Error(Code::invalid, fmt::format("--cores {}: {} has {:g} cores; give at most that, or all", text,
                                           machine, static_cast<double>(initiator.cores)));
  return cores;
}

// Returns the policy. Some work in virtual time only: they need data that no real machine delivers yet (samples
// and loads by interval), or another machine. Throws Error{invalid}.
const strategy::Variant& variant_for(const std::string& name, const std::string& subcommand) {
  const auto& variant = strategy::find_variant(name);
  if (!variant.is_simulation_only() || subcommand == "simulate" || subcommand == "replay") return variant;
  throw Error(Code::invalid, "--planner " + name + ": it works in virtual time only, not with `terrace " +
                                 subcommand + "`; use `terrace simulate`");
}

// A given plan is obeyed unchanged: with --plan, a planner has a use only for --refine-plan. Throws
// Error{invalid}.
void check_planner_options(const ConfigurationOptions& options) {
  if (options.refine_plan && options.plan.empty())
    throw Error(Code::invalid, "--refine-plan: there is no plan to refine; name its file with --plan");
  if (options.plan.empty() || options.planner.empty()) return;
  if (!options.refine_plan)
    throw Error(Code::invalid,
                "--planner " + options.planner +
                    " cannot be used with --plan: a given plan is obeyed unchanged. Leave --planner out, " +
                    "or add --refine-plan to let the planner refine the plan during the run");
  const auto* planner = strategy::find_variant(options.planner).planner();
  if (!planner || !planner->needs_profile())
    throw Error(Code::invalid,
                "--refine-plan: --planner " + options.planner +
                    " makes no plan from a profile; leave --planner out, or give one that does, such as auto");
}

// Reads a plan, or a folder with the plans of an MPI job. Processes without a plan of their own, such as further
// ranks, get an empty one. Throws Error.
void read_plans(const std::string& path, const machine::Machine& machine,
                runtime::SessionConfiguration& configuration, std::vector<std::string>& sentences) {
  if (!std::filesystem::is_directory(path)) {
    configuration.plan = strategy::read_plan_file(path);
    return strategy::check_places(*configuration.plan, machine, path);
  }
  configuration.rank_plans = strategy::read_rank_plans(path);
  for (const auto& [rank, plan] : configuration.rank_plans)
    strategy::check_places(plan, machine, fmt::format("{}/rank-{}.toml", path, rank));
  const auto& first = configuration.rank_plans.begin()->second;
  configuration.plan = Plan{};
  configuration.plan->machine = first.machine;
  configuration.plan->loop = first.loop;
  const auto count = configuration.rank_plans.size();
  const auto own = read_mpi_rank();
  std::vector<std::uint32_t> without;
  for (std::uint32_t rank = 0; own && rank < own->size; ++rank)
    if (!configuration.rank_plans.contains(rank)) without.push_back(rank);
  if (!without.empty())
    sentences.push_back(fmt::format("{} has no plan for {} {}{}: data of {} is in its default place", path,
                                    without.size() == 1 ? "rank" : "ranks", without.front(),
                                    without.size() == 1 ? "" : fmt::format(" and {} more", without.size() - 1),
                                    without.size() == 1 ? "this rank" : "these ranks"));
  else if (const auto last = configuration.rank_plans.rbegin()->first; !own && last + 1 != count)
    sentences.push_back(fmt::format(
        "{} has {} plans, the last for rank {}: data of other ranks is in its default place", path, count, last));
}

// Resolves one configuration: machine, caches, plan, hints, budget, calibration. Throws Error.
runtime::SessionConfiguration build_configuration(const ConfigurationOptions& options, const LaunchOptions& launch,
                                                  std::vector<std::string>& sentences, SlurmAllocation* slurm) {
  auto machine = with_option_name(
      "--cache", [&] { return machine::with_cache_sizes(load_machine(options.machine), options.caches); });
  const auto core_times = read_core_times(options.core_times);
  if (launch.subcommand == "replay") check_no_functions(core_times);
  if (core_times.program) machine = machine::with_core_time(machine, *core_times.program);
  if (options.domain >= machine.domains().size())
    throw Error(Code::invalid, "--domain " + std::to_string(options.domain) + ": " + machine.name() + " has " +
                                   std::to_string(machine.domains().size()) + " domains; give a number below " +
                                   std::to_string(machine.domains().size()));
  const auto domain = static_cast<DomainId>(options.domain);
  const auto initiator = machine.domains()[domain].initiator;
  runtime::SessionConfiguration configuration{options.label, machine};
  configuration.domain = domain;
  configuration.cores = cores_of(options.cores, machine.initiators()[initiator], machine.name());
  check_planner_options(options);
  const auto name = options.planner.empty() ? std::string(strategy::k_default_variant) : options.planner;
  const auto& variant = variant_for(name, launch.subcommand);
  configuration.planner = variant.name();
  const bool is_out_of_core =
      launch.subcommand == "run" && !options.memory.empty();  // spill_option.hpp reads the plan
  if (!options.plan.empty() && !is_out_of_core) {
    read_plans(options.plan, machine, configuration, sentences);
    configuration.refine_plan = options.refine_plan;
    if (!options.refine_plan) configuration.planner = "plan";
  }
  if (!options.hints.empty()) configuration.hints = strategy::read_hints_file(options.hints);
  strategy::apply_assignments(configuration.hints, launch.definitions);
  if (launch.profile && !configuration.hints.empty())
    throw Error(Code::invalid, "--profile plans nothing and ignores hints; leave out --hints and --define");
  resolve_budget(options, launch.is_run() ? slurm : nullptr, variant.ignores_budget(), configuration, sentences);
  configuration.calibration = cached_calibration(observe::symbol_cache(), machine, initiator, configuration.cores);
  configuration.core_time_fitted = core_times.program.has_value();
  configuration.core_time_from = options.core_time_from;
  configuration.core_times = core_times.times;
  configuration.record_only = launch.subcommand == "record" || launch.profile;
  configuration.undoes_losing_plans = launch.undo;
  configuration.keep_exact = launch.exact;
  configuration.free_moves = options.free_moves;
  if (launch.subcommand != "run")
    configuration.memory = parse_simulated_memory(options, launch.subcommand, configuration, sentences);
  return configuration;
}

bool moves_in_segments(const Plan& plan) {
  return std::ranges::any_of(plan.moves,
                             [&](const PlanMove& move) { return segment_offset(plan.phases.at(move.ask)) != 0; });
}

// Returns the measure of progress: --progress, else the plans', else the default. All plans of a run must agree
// unless segments begin by page accesses or time. On real memory accesses cannot be counted: plans that count them
// follow the default there. Throws Error{invalid}.
std::string progress_of(const LaunchOptions& options, runtime::Session& session,
                        std::vector<std::string>& sentences) {
  const bool is_real = session.backend == runtime::Backend::real;
  const auto usual = is_real ? observe::default_real_progress().name() : observe::k_default_progress;
  const auto* chosen = options.progress.empty() ? nullptr : &observe::find_progress(options.progress);
  std::string origin = "--progress " + options.progress;
  const auto refuse_if_unavailable = [&](const observe::ProgressVariant& variant) {
    if (const auto why = variant.unavailable_reason(); is_real && !why.empty())
      throw Error(Code::invalid, fmt::format("{}: {}; give --progress {}", origin, why, usual));
  };
  if (chosen) refuse_if_unavailable(*chosen);
  for (const auto& configuration : session.configurations) {
    if (!configuration.plan) continue;
    const auto& plan = *configuration.plan;
    const auto* wanted = &observe::find_progress(plan.progress);
    if (is_real && !chosen && wanted->name() == observe::k_default_progress) {
      wanted = &observe::find_progress(usual);
      if (moves_in_segments(plan)) {
        session.notes.push_back(fmt::format("--plan: its segments begin by {}, and {}: they begin by {} here",
                                            plan.progress,
                                            observe::find_progress(plan.progress).unavailable_reason(), usual));
        sentences.push_back(session.notes.back());
      }
    }
    if (!chosen) {
      chosen = wanted;
      origin = "--plan: its segments begin by " + plan.progress;
    }
    if (wanted != chosen && chosen->segment_start() == observe::SegmentStart::count)
      throw Error(Code::invalid, "--plan: its segments begin by " + plan.progress + ", but " +
                                     (options.progress.empty() ? "those of another plan by " : "--progress is ") +
                                     std::string(chosen->name()) +
                                     "; make all plans of a run with one --progress, and give no other");
  }
  if (!chosen) chosen = &observe::find_progress(usual);
  refuse_if_unavailable(*chosen);
  return std::string(chosen->name());
}

// Resolves --loop. Refuses a name that no loop of the program has, unless the program may load libraries, which
// may have one: adds a sentence to `unknown` then. Refuses any loop of an uninstrumented program. Throws
// Error{invalid}.
std::string resolve_loop_option(const LaunchOptions& options, const observe::SymbolTable& table, bool is_described,
                                std::vector<std::string>& unknown) {
  if (is_described && !table.has_hooks() && !table.may_load_code())
    throw Error(Code::invalid,
                fmt::format("--loop needs an instrumented program, but {} is not instrumented; build it with "
                            "terrace-cc, or give --phases FUNCTION "
                            "(without both, phases are intervals of time)",
                            options.command.front()));
  const auto known = table.loop_names();
  if (known.empty() && !table.has_hooks()) {
    if (is_described)
      unknown.push_back("--loop " + options.loop + ": " + options.command.front() +
                        " is not instrumented, so only loops of instrumented libraries can be found");
    return options.loop;
  }
  const auto choice = resolve_loop(options.loop, known);
  if (choice.problem.empty()) return choice.loop;
  const auto sentence = fmt::format("--loop: in {} {}", options.command.front(), choice.problem);
  if (!table.loads_libraries()) throw Error(Code::invalid, sentence);
  unknown.push_back(sentence + ", unless it loads one later");
  return choice.loop;
}

// Returns the source of phases: the options, or else the program's own markers or detection.
runtime::PhaseSpec build_phase_spec(const LaunchOptions& options, const std::vector<std::string>& symbol_files,
                                    std::vector<std::string>& unknown) {
  using runtime::PhaseSource;
  observe::SymbolTable table;
  for (const auto& file : symbol_files) table.add_file(file.c_str());
  const bool one = options.phases.size() == 1;
  if (!options.loop.empty() && !options.phases.empty() && !(one && options.phases.front() == "auto"))
    throw Error(
        Code::invalid,
        "--loop says which loop phases are looked for in, --phases what they are: give only one of the two");
  if (!options.loop.empty())
    return {.source = PhaseSource::automatic,
            .loop = resolve_loop_option(options, table, !symbol_files.empty(), unknown)};
  if (options.phases.empty()) return {.source = table.has_markers() ? PhaseSource::markers : PhaseSource::either};
  if (one && options.phases.front() == "auto") return {.source = PhaseSource::automatic};
  if (one && options.phases.front() == "markers") return {.source = PhaseSource::markers};
  const auto names = table.function_names();
  const std::vector<std::string> known(names.begin(), names.end());
  auto wanted = resolve_phases(options.phases, known);
  if (!known.empty())
    for (const auto& name : wanted.unknown)
      unknown.push_back(fmt::format("--phases: no function of {} is called '{}', unless it loads one later",
                                    options.command.front(), name));
  return {.source = PhaseSource::functions, .functions = std::move(wanted.functions)};
}

// Takes the main loop and its phases from the plans, unless they disagree.
void adopt_loop_of_plans(const runtime::Session& session, runtime::PhaseSpec& phases) {
  if (!phases.detects_loops() || !phases.loop.empty()) return;
  for (const auto& configuration : session.configurations) {
    if (!configuration.plan) continue;
    const auto& plan = *configuration.plan;
    std::vector<std::string> names;
    for (const auto& segment : plan.phases)
      if (const std::string name(phase_of_segment(segment)); std::ranges::count(names, name) == 0)
        names.push_back(name);
    if (!phases.loop.empty() && (phases.loop != plan.loop || phases.found != names)) {
      phases.loop.clear();
      phases.found.clear();
      return;
    }
    phases.loop = plan.loop;
    phases.found = std::move(names);
  }
  if (phases.found.empty()) phases.loop.clear();
}

// Creates the file of --misses, to which the program's processes append. Never overwrites one: a recording may
// have taken an hour. Throws Error.
std::string create_recording(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    throw Error(errno == EEXIST ? Code::invalid : Code::failed,
                "--misses " + path + ": " +
                    (errno == EEXIST ? "this file exists, and is not overwritten" : std::strerror(errno)) +
                    "; name another");
  close(file);
  return std::filesystem::absolute(path).string();
}

// Returns whether `terrace record` watches the pages of an uninstrumented program in real time, on this machine,
// instead of simulating it. Programs that may load or start instrumented code are simulated.
bool records_pages(const LaunchOptions& options, const std::vector<std::string>& symbol_files) {
  const auto& configuration = options.configuration;
  if (options.subcommand != "record" || !options.configurations.empty() || !options.misses.empty() ||
      options.exact)
    return false;
  if (!configuration.machine.empty() || !configuration.caches.empty() || !configuration.core_times.empty())
    return false;
  observe::SymbolTable table;
  for (const auto& file : symbol_files) table.add_file(file.c_str());
  return !symbol_files.empty() && !table.has_hooks() && !table.may_load_code();
}

// Builds the session; errors of missing files are turned into usage errors by build_session().
runtime::Session session_of(const LaunchOptions& options, const std::string& directory,
                            std::vector<std::string>& sentences, SlurmAllocation* slurm) {
  runtime::Session session;
  session.mode = options.subcommand;
  if (options.subcommand != "replay") {
    // The launcher of an MPI job is no program of the user's.
    const bool is_job = is_mpi_launcher(options.command.front());
    const std::vector<std::string> words(options.command.begin() + (is_job ? 1 : 0), options.command.end());
    session.symbol_files = observe::write_symbol_files(words, observe::symbol_cache(), is_job ? words.size() : 1);
  }
  session.backend = options.subcommand == "run" || records_pages(options, session.symbol_files)
                        ? runtime::Backend::real
                        : runtime::Backend::virtual_time;
  session.directory = directory;
  if (options.configurations.empty())
    session.configurations.push_back(build_configuration(options.configuration, options, sentences, slurm));
  for (const auto& configuration : options.configurations)
    session.configurations.push_back(build_configuration(configuration, options, sentences, slurm));
  if (session.backend == runtime::Backend::real) {
    if (!options.configuration.machine.empty()) check_machine_is_present(session.configurations.front().machine);
    for (auto& configuration : session.configurations) limit_budget(configuration, sentences);
  }
  const auto caches_of = [](const runtime::SessionConfiguration& configuration) {
    return sim::cache_shape(configuration.machine,
                            configuration.machine.domains()[configuration.domain].initiator);
  };
  for (const auto& configuration : session.configurations) {
    const auto difference = sim::difference(caches_of(session.configurations.front()), caches_of(configuration),
                                            "on " + session.configurations.front().machine.name(), "there");
    if (!difference.empty())
      throw Error(Code::invalid, "configurations of one run share the caches: " + configuration.machine.name() +
                                     " has others (" + difference + "); simulate it in a separate run");
  }
  const auto& first = session.configurations.front();
  const auto& initiator = first.machine.initiators()[first.machine.domains()[first.domain].initiator];
  const auto frequency = initiator.frequency_hz > 0 ? initiator.frequency_hz : 1e9;
  const auto& collector = observe::find_collector(options.collector);
  session.collector = collector.name();
  session.sample_interval = Seconds{options.sample_cycles.value_or(collector.sample_cycles()) / frequency};
  session.page_window = collector.name() == observe::k_default_collector || !options.sample_cycles
                            ? observe::k_page_window
                            : session.sample_interval;
  if (session.backend == runtime::Backend::real && collector.name() == observe::k_default_collector)
    session.events = observe::memory_events().events;
  session.progress = progress_of(options, session, sentences);
  // A recording contains names and phases.
  if (options.subcommand == "replay") return session;
  session.sample_every = options.every;
  session.spill = build_spill_spec(options, sentences);
  configure_intent(options, session);
  configure_mpi_objects(options, session);
  // A memory-side cache simulates the lines of each chunk, and out-of-core memory its pages: both limit the chunk
  // size.
  const auto cached = [](const runtime::SessionConfiguration& configuration) {
    return !configuration.plan && strategy::find_variant(configuration.planner).fast_memory_is_cache();
  };
  const auto in_file = [](const runtime::SessionConfiguration& configuration) {
    return configuration.memory.value > 0;
  };
  if (std::ranges::any_of(session.configurations, cached) ||
      std::ranges::any_of(session.configurations, in_file)) {
    const auto largest = sim::k_max_lines_per_cached_chunk * first.machine.parts().line.value;
    session.chunk_rule.largest = std::min(session.chunk_rule.largest, Bytes{largest});
  }
  session.phases = build_phase_spec(options, session.symbol_files, sentences);
  adopt_loop_of_plans(session, session.phases);
  if (!options.misses.empty()) session.recording = create_recording(options.misses);
  session.functions = options.functions;
  return session;
}

}  // namespace

runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& sentences, SlurmAllocation* slurm) {
  return not_found_as_invalid([&] { return session_of(options, directory, sentences, slurm); });
}

}  // namespace terrace::cli
