// SPDX-License-Identifier: Apache-2.0
// Describes what `terrace run --dry-run` would do: memories, placement policy, sources of accesses and phases. See
// dry_run.hpp.
#include "cli/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "observe/page_watch.hpp"
#include "observe/perf/function_probes.hpp"
#include "observe/perf/memory_sampler.hpp"
#include "observe/symbols/files/symbols_writer.hpp"
#include "observe/symbols/symbols.hpp"
#include "runtime/session/profile_source.hpp"

namespace terrace::cli {

namespace {

using runtime::PhaseSource;
using runtime::ProfileSource;

std::string join(const std::vector<std::string>& words, const char* by = ", ") {
  return fmt::format("{}", fmt::join(words, by));
}

std::string describe_memories(const runtime::SessionConfiguration& configuration) {
  std::vector<std::string> words;
  for (const auto place : configuration.machine.fastest_first(configuration.domain)) {
    const auto& one = configuration.machine.place(place);
    const auto budget = std::min(configuration.budget[place], one.capacity);
    words.push_back(fmt::format("{} ({}, {} of {})", one.name, one.kind, format(budget), format(one.capacity)));
  }
  return join(words);
}

bool is_sampled(const runtime::Session& session) {
  return !session.events.empty() && observe::MemorySampler::unavailable_reason(session.events).empty();
}

bool can_watch(const runtime::Session& session) { return is_sampled(session) || observe::best_page_watch(); }

// Returns whether accesses are observed, so that a plan can be learned.
bool can_learn(const runtime::Session& session, ProfileSource observed, bool has_hooks) {
  return observed == ProfileSource::hooks ? has_hooks : observed == ProfileSource::pages && can_watch(session);
}

std::string describe_policy(const runtime::Session& session, ProfileSource observed, bool has_hooks) {
  const auto& configuration = session.configurations.front();
  if (session.intent.is_wanted())
    return fmt::format("blocks of 4 MiB and more by the ordering '{}'", session.intent.name);
  if (session.spill.is_wanted())
    return fmt::format("data used next in {} of memory, the rest in a file in {}", format(session.spill.memory),
                       session.spill.folder);
  if (configuration.record_only) return "none: the program is profiled, and its data are not moved";
  const auto undone =
      configuration.undoes_losing_plans ? "; undone if iterations get slower" : "; kept in any case";
  if (configuration.plan)
    return (configuration.refine_plan ? "the given plan, refined by " + configuration.planner : "the given plan") +
           undone;
  if (!runtime::learns(session)) return configuration.planner + ", when memory is allocated";
  if (!runtime::has_choice(session)) return "unchanged (the machine has one kind of memory)";
  if (!can_learn(session, observed, has_hooks)) return "none: a plan needs observed accesses";
  return fmt::format("a plan by '{}' of the first iterations{}", configuration.planner, undone);
}

std::string describe_page_source(const runtime::Session& session, const observe::SymbolTable& table) {
  if (is_sampled(session)) return "samples by the processor, because the program is not instrumented";
  const auto* const watch = observe::best_page_watch();
  if (!watch) {
    std::vector<std::string> reasons;
    for (const auto* variant : observe::page_watches())
      reasons.push_back(fmt::format("{}: {}", variant->name(), variant->unavailable_reason()));
    return "none: the program is not instrumented, and its pages cannot be watched here (" + join(reasons, "; ") +
           ")";
  }
  auto text = fmt::format("page references by {}, because the program is not instrumented", watch->name());
  if (!watch->blind_spots().empty()) text += fmt::format("; not observed: {}", watch->blind_spots());
  if (table.may_load_code()) text += "; libraries that it loads later may be instrumented";
  return text;
}

std::string describe_access_source(const runtime::Session& session, ProfileSource observed,
                                   const observe::SymbolTable& table) {
  if (session.spill.is_wanted()) return "page faults";
  if (!session.hooks) return "none (this run needs none)";
  if (table.has_hooks())
    return runtime::learns(session) ? "instrumentation: every access of an observed iteration"
                                    : "none (this run needs none)";
  if (observed == ProfileSource::pages) return describe_page_source(session, table);
  if (runtime::learns(session) && runtime::has_choice(session))
    return fmt::format("none: the program is not instrumented, as --collector {} requires", session.collector);
  return "none (the program is not instrumented, and this run needs none)";
}

std::string describe_phases(const runtime::Session& session, ProfileSource observed,
                            const observe::SymbolTable& table) {
  if (!session.hooks || session.spill.is_wanted()) return "none, as none are needed";
  const bool watched = observed == ProfileSource::pages;
  const auto probes = watched ? observe::FunctionProbes::unavailable_reason() : std::string();
  const auto cannot = probes.empty() ? std::string() : "; entries of functions cannot be observed: " + probes;
  switch (session.phases.source) {
    case PhaseSource::markers:
      return "the program's own markers";
    case PhaseSource::functions:
      if (!watched && !table.has_hooks())
        return "none: entries of functions are observed in instrumented programs only";
      return "entries of " + join(session.phases.functions) + cannot;
    case PhaseSource::automatic:
    case PhaseSource::either:
      break;
  }
  if (!watched && !table.has_hooks()) return "none, unless the program marks them";
  if (!watched) return "detected in its calls and loops, unless the program marks them";
  return (probes.empty() ? "repeated calls, else intervals of time, unless the program marks them"
                         : "intervals of time, unless the program marks them") +
         cannot;
}

std::string describe_mpi_objects(const runtime::MpiObjectsSpec& spec) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < spec.placed.size(); ++i)
    if (spec.placed[i])
      words.push_back(fmt::format("{} in {}", strategy::name_of(static_cast<strategy::MpiObjectKind>(i)),
                                  spec.places[*spec.placed[i]].name));
  return join(words);
}

}  // namespace

std::vector<std::string> describe_run(const LaunchOptions& options, const runtime::Session& session) {
  if (const auto why = observe::why_not_loaded(options.command.front()); !why.empty())
    return {fmt::format("the program cannot load Terrace ({}), and runs unchanged", why)};
  const auto& configuration = session.configurations.front();
  observe::SymbolTable table;
  for (const auto& file : session.symbol_files) table.add_file(file.c_str());
  const auto observed = runtime::profile_source(session, table.has_hooks());
  std::vector<std::string> lines{
      fmt::format("memory: {}, of {}", describe_memories(configuration), configuration.machine.name()),
      fmt::format("placement: {}", describe_policy(session, observed, table.has_hooks())),
      fmt::format("access counts: {}", describe_access_source(session, observed, table)),
      fmt::format("phases: {}", describe_phases(session, observed, table))};
  if (session.mpi_objects.is_wanted())
    lines.push_back("memory of the MPI library: " + describe_mpi_objects(session.mpi_objects));
  return lines;
}

}  // namespace terrace::cli
