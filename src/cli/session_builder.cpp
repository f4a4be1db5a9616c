// Builds the session of a launch. See session_builder.hpp.
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

#include "cli/core_time_option.hpp"
#include "cli/phase_names.hpp"
#include "machine/discover/cache_sizes.hpp"
#include "machine/discover/discovery.hpp"
#include "machine/file/machine_file.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"
#include "sim/engine/calibrate.hpp"
#include "sim/engine/memory_cache.hpp"
#include "sim/recording/recording_format.hpp"
#include "strategy/files/hints_file.hpp"
#include "strategy/files/plan_file.hpp"
#include "strategy/planner.hpp"
#include "strategy/policy.hpp"

namespace terrace::cli {

namespace {

machine::Machine load_machine(const std::string& name) {
  return name.empty() ? machine::discover() : machine::read_machine_file(machine::find_machine(name));
}

double cores_of(const std::string& text, const machine::Initiator& initiator) {
  if (text == "all") return initiator.cores;
  char* end = nullptr;
  const auto cores = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !(cores > 0))
    throw Error(Code::invalid, "--cores: '" + text + "' is neither a positive number nor all");
  return cores;
}

// A policy's name, or cache-mode: what is no planner needs what no real machine delivers yet (samples and loads by
// interval), or another machine.
bool only_simulated(const std::string& name) {
  return strategy::is_policy(name) || name == strategy::k_cache_mode;
}

std::string chooser(const std::string& name, const std::string& verb) {
  if (!only_simulated(name)) return std::string(strategy::find_planner(name).name());
  if (verb == "simulate" || verb == "replay") return name;
  throw Error(Code::invalid, "--planner " + name + ": it works in virtual time only, not in `terrace " + verb +
                                 "`; use `terrace simulate`");
}

// A plan that is given is obeyed as it is, so a planner beside it has nothing to do, unless it is asked to better
// it.
void check_who_plans(const WorldOptions& options) {
  if (options.better_plan && options.plan.empty())
    throw Error(Code::invalid, "--better-plan: there is no plan to better; name its file with --plan");
  if (options.plan.empty() || options.planner.empty()) return;
  if (!options.better_plan)
    throw Error(Code::invalid,
                "--planner " + options.planner +
                    " beside --plan: a plan that is given is obeyed as it is. Leave --planner out, " +
                    "or add --better-plan for the planner to better the plan while the program runs");
  if (only_simulated(options.planner) || !strategy::find_planner(options.planner).needs_profile())
    throw Error(Code::invalid, "--better-plan: --planner " + options.planner +
                                   " makes no plan from a profile; leave it out, or give --planner auto");
}

runtime::SessionWorld build_world(const WorldOptions& options, const LaunchOptions& launch) {
  auto machine = machine::with_cache_sizes(load_machine(options.machine), options.caches);
  const auto core_times = read_core_times(options.core_times);
  if (core_times.program) machine = machine::with_core_time(machine, *core_times.program);
  if (options.domain >= machine.domains().size())
    throw Error(Code::invalid, "--domain " + std::to_string(options.domain) + ": " + machine.name() + " has " +
                                   std::to_string(machine.domains().size()) + " domains, counted from 0");
  const auto domain = static_cast<DomainId>(options.domain);
  const auto initiator = machine.domains()[domain].initiator;
  runtime::SessionWorld world{options.label, machine};
  world.domain = domain;
  world.cores = cores_of(options.cores, machine.initiators()[initiator]);
  check_who_plans(options);
  world.planner = chooser(options.planner.empty() ? "auto" : options.planner, launch.verb);
  if (!options.plan.empty()) {
    world.plan = strategy::read_plan_file(options.plan);
    if (!options.better_plan) world.planner = runtime::k_given_plan;
  }
  if (!options.hints.empty()) world.hints = strategy::read_hints_file(options.hints);
  strategy::let(world.hints, launch.lets);
  if (launch.profile && !world.hints.empty())
    throw Error(Code::invalid, "--profile plans nothing and has no use for hints; leave out --hints and --let");
  if (!options.fast.empty() && !options.budget.empty())
    throw Error(Code::invalid, "--fast and --budget exclude each other; write the fast kind into --budget");
  world.budget_text = options.fast.empty() ? options.budget : options.fast;
  if (world.budget_text.empty() && world.plan)
    for (const auto& part : world.plan->budget) world.budget_text += (world.budget_text.empty() ? "" : ",") + part;
  if (!world.budget_text.empty()) world.budget_text = machine::format_budget(world.budget_text);
  // Without a budget, and for the planner that ignores it, places are allowed whole; those that compute only to a
  // plan, which names what is to lie there.
  if (world.budget_text.empty() && world.plan)
    for (const auto& place : machine.places()) world.budget.push_back(place.capacity);
  else if (world.budget_text.empty() || world.planner == "fast-only")
    world.budget = machine::whole_budget(machine);
  else
    world.budget = machine::parse_budget(machine, world.budget_text);
  world.calibration = sim::measure_calibration(machine, initiator, world.cores);
  world.core_time_fitted = !options.core_times.empty();
  world.core_times = core_times.phases;
  world.record_only = launch.verb == "record" || launch.profile;
  world.keep_exact = launch.exact;
  world.free_moves = options.free_moves;
  return world;
}

std::vector<std::string> functions_in(const std::vector<std::string>& symbol_files) {
  observe::SymbolTable table;
  for (const auto& file : symbol_files) table.add_file(file.c_str());
  const auto names = table.function_names();
  return {names.begin(), names.end()};
}

// The program's processes only append. Never overwritten, like profiles: it may have taken an hour to make.
std::string create_recording(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0)
    throw Error(errno == EEXIST ? Code::invalid : Code::failed,
                "--misses " + path + ": " +
                    (errno == EEXIST ? "there is such a file; name another" : std::strerror(errno)));
  close(file);
  return std::filesystem::absolute(path).string();
}

}  // namespace

runtime::Session build_session(const LaunchOptions& options, const std::string& directory,
                               std::vector<std::string>& unknown_phases) {
  runtime::Session session;
  session.mode = options.verb;
  session.backend = options.verb == "run" ? runtime::Backend::real : runtime::Backend::virtual_time;
  session.directory = directory;
  if (options.worlds.empty()) session.worlds.push_back(build_world(options.world, options));
  for (const auto& world : options.worlds) session.worlds.push_back(build_world(world, options));
  const auto caches_of = [](const runtime::SessionWorld& world) {
    return sim::cache_shape(world.machine, world.machine.domains()[world.domain].initiator);
  };
  for (const auto& world : session.worlds) {
    const auto difference = sim::difference(caches_of(session.worlds.front()), caches_of(world),
                                            "on " + session.worlds.front().machine.name(), "there");
    if (!difference.empty())
      throw Error(Code::invalid, "worlds of one run share the caches: " + world.machine.name() + " has others (" +
                                     difference + "); simulate it in a run of its own");
  }
  const auto& first = session.worlds.front();
  const auto& initiator = first.machine.initiators()[first.machine.domains()[first.domain].initiator];
  const auto frequency = initiator.frequency_hz > 0 ? initiator.frequency_hz : 1e9;
  session.sample_interval = Seconds{options.sample_cycles / frequency};
  // A recording has its names and phases.
  if (options.verb == "replay") return session;
  session.follow_every = options.every;
  // A cache of lines has to tell a chunk's lines apart.
  const auto cached = [](const runtime::SessionWorld& world) { return world.planner == strategy::k_cache_mode; };
  if (std::any_of(session.worlds.begin(), session.worlds.end(), cached)) {
    const auto largest = sim::k_most_lines_of_a_cached_chunk * first.machine.parts().line.value;
    session.chunk_rule.largest = std::min(session.chunk_rule.largest, Bytes{largest});
  }
  if (!options.misses.empty()) session.recording = create_recording(options.misses);
  session.symbol_files = observe::write_symbol_files(options.command, observe::symbol_cache());
  if (options.phases.size() == 1 && options.phases.front() == "auto") {
    session.phases.source = runtime::PhaseSource::automatic;
  } else if (!options.phases.empty()) {
    const auto known = functions_in(session.symbol_files);
    auto names = resolve_phases(options.phases, known);
    session.phases = {runtime::PhaseSource::functions, std::move(names.functions)};
    if (!known.empty()) unknown_phases = std::move(names.unknown);
  }
  return session;
}

}  // namespace terrace::cli
