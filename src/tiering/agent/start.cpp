// SPDX-License-Identifier: Apache-2.0
// Implements the life-cycle hooks of process.hpp, which the interposed functions call: builds the runtime from the
// launcher's session, starts and ends the tracing of threads, and deactivates Terrace in forked children.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/function_names.hpp"
#include "agent/interpose/scheduling.hpp"
#include "agent/lifecycle/modules.hpp"
#include "agent/lifecycle/process.hpp"
#include "agent/lifecycle/program_work.hpp"
#include "agent/main_loop_detector.hpp"
#include "agent/mpi_objects/mpi_object_placer.hpp"
#include "agent/program_coverage.hpp"
#include "agent/session_heaps.hpp"
#include "agent/uninstrumented_monitor.hpp"
#include "core/address_space.hpp"
#include "core/big_block.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "memory/region_space.hpp"
#include "observe/objects/address_map.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/pipeline/shadow_stack.hpp"
#include "observe/symbols/symbols.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/assembly/configurations.hpp"
#include "runtime/runtime.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/session/rank_plan.hpp"
#include "sim/recording/write/recording_writer.hpp"
#include "sim/scheduler/scheduler.hpp"
#include "sim/scheduler/thread_clocks.hpp"

namespace terrace::agent {
namespace {
// Returns the quantum's progress in nominal nanoseconds: one per access, or per four instructions if that is more.
std::uint64_t nominal_progress(const observe::Quantum& quantum) {
  constexpr std::uint64_t k_miss = 16;
  auto nominal = std::max(quantum.accesses, quantum.instructions / observe::k_instructions_per_access) +
                 k_miss * quantum.misses.size();
  for (const auto& calls : quantum.calls) nominal += observe::k_accesses_per_call * calls.count;
  return nominal;
}

// Owns all state that lives as long as the process. Never destroyed, because threads may still run at exit.
//
// As a sink it serialises the quanta of all threads under the program's lock, which the runtime uses, too. As the
// program's clock it charges time that the program sleeps in every configuration.
struct AgentState final : observe::AccessSink, Clock {
  explicit AgentState(runtime::Session given)
      : session(runtime::with_plan_of_rank(std::move(given))), thread_clocks(mutex) {}
  // Receives a batch of one thread's accesses from its pipeline.
  void quantum(const observe::Quantum& quantum) override {
    const observe::OwnTimeScope own;
    const std::lock_guard lock(mutex);
    if (scheduler) scheduler->advance(quantum.thread, nominal_progress(quantum));
    if (recorder) recorder->quantum(quantum);
    sinks.quantum(quantum);
    if (runtime) runtime->on_quantum(quantum);
  }
  Seconds now() override {
    const std::lock_guard lock(mutex);
    return clocks.front()->now();
  }
  // Charges time that the program sleeps to all configurations.
  void charge(Seconds cost) override {
    // Earlier accesses are charged first.
    if (auto* const pipeline = observe::t_thread.pipeline) pipeline->flush();
    const std::lock_guard lock(mutex);
    for (auto* const clock : clocks) clock->charge(cost);
    if (recorder) recorder->on_sleep(cost);
    if (scheduler) scheduler->advance(observe::t_thread.number, static_cast<std::uint64_t>(cost.value * 1e9));
  }
  // With spilled memory under RLIMIT_AS reserve no region: the spilled heap needs the address space.
  [[nodiscard]] Bytes reserve() const {
    return Bytes{session.spill.is_wanted() && address_space_limit() ? 0 : 1ULL << 40};
  }
  runtime::Session session;
  std::mutex mutex;
  observe::Tee sinks;
  std::vector<Clock*> clocks;  // of the configurations
  sim::BroadcastThreadClocks thread_clocks;
  std::optional<sim::Scheduler> scheduler;
  std::optional<ProgramCoverage> coverage;
  observe::AddressMap map;
  observe::SymbolTable symbols;
  memory::RegionSpace regions{reserve()};
  observe::PipelineConfig pipelines;
  std::optional<ProgramWork> work;
  // Megabytes; on a real machine made when the first thread is traced.
  std::unique_ptr<observe::SharedCache, void (*)(observe::SharedCache*)> shared{nullptr, nullptr};
  std::mutex making_shared;
  observe::SharedCache& shared_cache() {
    const std::lock_guard lock(making_shared);
    if (!shared) shared = observe::make_shared_cache(pipelines);
    return *shared;
  }
  std::unique_ptr<sim::RecordingWriter> recorder;  // null: nothing is recorded
  std::unique_ptr<runtime::Runtime> runtime;
  observe::FunctionObserver observer;
  FunctionNames names;
  std::optional<MainLoopDetector> loops;                           // empty: the main loop is not searched
  bool is_tracing = true;                                          // accesses are traced
  runtime::ProfileSource observed = runtime::ProfileSource::none;  // how an uninstrumented program is observed
  std::optional<UninstrumentedMonitor> monitor;
  memory::Ledger* ledger = nullptr;  // of the first configuration
  std::optional<MpiObjectPlacer> mpi_objects;
  Process process;
};

AgentState* g_agent = nullptr;
void print_message(const char* text) {
  // Bare system call: the program's streams may not be initialised yet.
  [[maybe_unused]] const auto ignored = syscall(SYS_write, STDERR_FILENO, text, std::strlen(text));
}

const char* environment_value(char** environment, std::string_view name) {
  for (; environment && *environment; ++environment) {
    const std::string_view text(*environment);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return *environment + name.size() + 1;
  }
  return nullptr;
}

// Returns whether --phases names the function. Called by the hooks of function entries.
bool is_phase_function(void*, std::uint64_t function) {
  const auto& phases = g_agent->session.phases;
  try {
    const auto name = g_agent->names.resolve(g_agent->process, function);
    return std::find(phases.functions.begin(), phases.functions.end(), name) != phases.functions.end();
  } catch (const std::exception&) {
    return false;  // no memory for the name
  }
}

void function_entered(void*, std::uint64_t function, std::uint64_t call_site) {
  g_agent->runtime->function_entered(function, call_site);
}

// Records with the caches of the first configuration, which all configurations share.
void make_recorder(AgentState& state, const sim::ProgramIdentity& program) {
  const auto& session = state.session;
  const auto& configuration = session.configurations.front();
  sim::RecordingHeader header;
  header.identity = program;
  header.caches =
      sim::cache_shape(configuration.machine, configuration.machine.domains()[configuration.domain].initiator);
  header.quantum_accesses = session.quantum_accesses;
  header.chunks_per_object = session.chunk_rule.chunks_per_object;
  header.smallest_chunk = session.chunk_rule.smallest.value;
  header.largest_chunk = session.chunk_rule.largest.value;
  state.recorder = std::make_unique<sim::RecordingWriter>(session.recording, header, [](const std::string& why) {
    char text[512];
    std::snprintf(text, sizeof text, "terrace: the recording of misses ends before the program does: %s\n",
                  why.c_str());
    print_message(text);
  });
  state.thread_clocks.add(*state.recorder);
}

// The thread's pipeline while tracing is suspended; its caches keep their state.
constinit thread_local observe::Pipeline* t_paused_pipeline __attribute__((tls_model("initial-exec"))) = nullptr;
// Suspends or resumes tracing, in single-threaded programs (Runtime::on_multithreaded ends it).
void set_tracing(bool wanted) {
  if (g_agent->coverage) g_agent->coverage->set_observed(wanted);
  if (wanted == (t_paused_pipeline == nullptr)) return;
  auto* const pipeline = observe::t_thread.pipeline;
  observe::t_thread.set_pipeline(std::exchange(t_paused_pipeline, pipeline));
  set_accesses_observed(g_agent->process, wanted);
}

// Makes the configurations, the access pipelines' settings and the runtime.
void make_runtime(AgentState& state) {
  const auto program = runtime::this_program();
  if (state.session.backend == runtime::Backend::virtual_time && state.session.hooks)
    state.sinks.add(state.coverage.emplace().sink());
  if (!state.session.recording.empty()) make_recorder(state, program);
  runtime::RuntimeParts parts;
  for (const auto& configuration : state.session.configurations) {
    auto built = runtime::build_configuration(state.session, configuration, state.observed, program);
    if (auto* const collector = built.watched_pages)
      state.monitor.emplace(*collector, state.mutex, *built.parts.clock, state.process, state.session,
                            [](std::uint64_t function) { g_agent->names.resolve(g_agent->process, function); });
    for (auto* sink : built.sinks) state.sinks.add(*sink);
    state.clocks.push_back(built.parts.clock);
    if (built.thread_clocks) state.thread_clocks.add(*built.thread_clocks);
    if (built.parts.totals)
      built.parts.totals = [of_configuration = std::move(built.parts.totals), &state] {
        auto totals = of_configuration();
        totals.unseen = observe::untraced_accesses();
        totals.dropped = observe::unknown_accesses(state.shared_cache());
        if (state.recorder) state.recorder->on_unobserved(totals.unseen, totals.dropped);
        state.work->write_functions();
        return totals;
      };
    parts.configurations.push_back(std::move(built.parts));
  }
  const auto& first = state.session.configurations.front();
  const auto& initiator = first.machine.initiators()[first.machine.domains()[first.domain].initiator];
  state.pipelines.caches = initiator.caches;
  state.pipelines.tlb = initiator.tlb;
  state.pipelines.line = first.machine.parts().line;
  state.pipelines.miss_registers = initiator.miss_registers;
  state.pipelines.window_accesses = initiator.window;
  state.pipelines.store_buffer = initiator.store_buffer;
  state.pipelines.streams = initiator.streams;
  state.pipelines.quantum_accesses = state.session.quantum_accesses;
  state.work.emplace(state.process, state.session).attach_to(state.pipelines);
  if (state.session.backend == runtime::Backend::virtual_time) state.shared_cache();
  parts.map = state.session.hooks ? &state.map : nullptr;
  parts.chunk_rule = state.session.chunk_rule;
  parts.phases = state.session.phases;
  parts.progress = &observe::find_progress(state.session.progress);
  parts.domain = first.domain;
  parts.function_name = [](std::uint64_t function) { return g_agent->names.find(function); };
  parts.mutex = &state.mutex;
  // In virtual time all accesses are traced, except in skipped iterations; on the real machine while a strategy
  // learns.
  if (state.observed == runtime::ProfileSource::pages) {
    state.is_tracing = false;
  } else if (state.session.backend == runtime::Backend::real) {
    state.is_tracing = parts.observes_outside = false;
    parts.observe = [](bool wanted) {
      set_real_accesses_observed(g_agent->process, g_agent->is_tracing = wanted);
      if (!wanted) observe::t_thread.set_pipeline(nullptr);
      if (wanted && !observe::t_thread.pipeline) attach_thread();
    };
  } else if (state.session.sample_every > 1) {
    parts.sample_every = state.session.sample_every;
    parts.observe = set_tracing;
  }
  if (state.coverage) {
    parts.listeners.push_back(&*state.coverage);
    parts.coverage = [&state] { return state.coverage->so_far(); };
  }
  if (state.recorder) parts.listeners.push_back(state.recorder.get());
  state.ledger = parts.configurations.front().ledger;
  state.runtime = std::make_unique<runtime::Runtime>(std::move(parts));
  if (state.monitor) state.monitor->report_to(*state.runtime);
  for (const auto& note : state.session.notes) state.runtime->note("note", note);
}

// Makes the scheduler, in memory that other processes could map: see scheduler.hpp.
void make_scheduler(AgentState& state) {
  void* const page =
      mmap(nullptr, sizeof(sim::SchedulerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    throw Error(Code::failed, "no memory for the threads' scheduler; free memory, or raise ulimit -v");
  state.scheduler.emplace(*static_cast<sim::SchedulerPage*>(page), observe::t_thread.number);
  state.process.scheduler = &*state.scheduler;
  state.process.thread_clocks = &state.thread_clocks;
  observe::t_thread.is_scheduled = true;
}

// Makes all state of the process from the session file. Throws Error.
Process* build(const char* session_path) {
  auto* state = new AgentState(runtime::read_session(session_path));
  g_agent = state;
  for (const auto& file : state->session.symbol_files) state->symbols.add_file(file.c_str());
  state->observed = choose_observation(state->session);
  make_runtime(*state);
  if (state->session.phases.source == runtime::PhaseSource::functions) {
    state->observer = {is_phase_function, function_entered, nullptr};
    observe::set_function_observer(&state->observer);
  }
  auto& process = state->process;
  process.runtime = state->runtime.get();
  process.map = state->session.hooks ? &state->map : nullptr;
  process.regions = &state->regions;
  process.symbols = &state->symbols;
  process.work = &*state->work;
  process.clock = state;
  process.code = state->coverage ? &state->coverage->code() : nullptr;
  process.is_learning = runtime::learns(state->session);
  process.simulated = state->session.backend == runtime::Backend::virtual_time;
  if (process.simulated) make_scheduler(*state);
  process.big_block = state->session.big_block.value;
  if (prepare_spilled(state->session, print_message)) {
    process.make_spilled = make_spilled;
    if (!state->session.spill.plan.empty()) process.preference_of = preference_of;
    process.spilled_memory = state->session.spill.memory.value;
    process.end_spilled = end_spilled;
    process.confined_over_file = warn_confined_over_file;
  }
  if (process.make_spilled) process.big_block = std::max<std::uint64_t>(process.big_block, k_big_block);
  if (!state->session.spill.is_wanted() && state->regions.reserved().value == 0)
    warn_address_space_limit(state->session, print_message);
  if (state->monitor) {
    process.begin_monitoring = [] { g_agent->monitor->begin(); };
    process.end_monitoring = [] { g_agent->monitor->end(); };
  }
  process.ordered = make_ordered(state->session, *state->ledger, print_message);
  if (state->session.mpi_objects.is_observed())
    process.shared_mappings = process.mpi_objects = &state->mpi_objects.emplace(
        state->session.mpi_objects, *state->ledger, state->session.directory, print_message);
  if (state->session.hooks && state->session.phases.detects_loops()) {
    process.loops = &state->loops.emplace(process, state->session.phases);
    process.loops->follow(process.simulated, state->session.sample_every);
  }
  process.started_unix_ns = runtime::real_time_ns();
  return &process;
}
}  // namespace

Process* start(char** environment) noexcept {
  const char* const switched = environment_value(environment, "TERRACE");
  if (switched && std::string_view(switched) == "off") return nullptr;
  const char* const path = environment_value(environment, runtime::k_session_variable);
  if (!path || runtime::is_session_gone(path)) return nullptr;
  try {
    return build(path);
  } catch (const std::exception& error) {
    if (runtime::is_session_gone(path)) {
      g_agent = nullptr;
      return nullptr;
    }
    const bool is_of_others = access(path, F_OK) != 0 && errno == EACCES;
    char text[512];
    std::snprintf(text, sizeof text,
                  is_of_others
                      ? "terrace: a process of another user, who may not read this run's folder, runs without "
                        "Terrace: none of the options of `terrace run` does anything to it (%s)\n"
                      : "terrace: the program runs unmanaged: %s\n",
                  error.what());
    print_message(text);
    g_agent = nullptr;
    return nullptr;
  }
}

void attach_thread() noexcept {
  auto* const state = g_agent;
  if (!state) return;
  auto& thread = observe::t_thread;
  thread.reports_entries = state->session.phases.source == runtime::PhaseSource::functions;
  if (!state->session.hooks || !state->is_tracing || thread.pipeline) return;
  const observe::RuntimeScope inside;
  if (state->coverage) state->coverage->begin_thread();
  try {
    // A pipeline outlives its thread: the dirty lines of its caches are written back later.
    thread.set_pipeline(new observe::Pipeline(
        state->pipelines, state->shared_cache(), state->map, *state, thread.number,
        [](std::uint64_t address) { return register_touched_memory(address); }, end_quantum));
    observe::set_tracing_enabled(true);
  } catch (const std::exception&) {
    thread.set_pipeline(nullptr);
  }
}

void detach_thread() noexcept {
  auto& thread = observe::t_thread;
  const observe::RuntimeScope inside;
  if (thread.pipeline) thread.pipeline->flush();
  thread.set_pipeline(t_paused_pipeline = nullptr);
  if (g_agent && g_agent->coverage) g_agent->coverage->end_thread();
}

// Makes Terrace inactive in the child, until it executes another program. The mover and other threads do not
// exist there, and its pages are copy-on-write. Locks that these threads held (runtime, caches, address map) stay
// locked, so the child must not reach them. The heaps, which it needs to free blocks, were locked before the fork
// (startup.cpp).
Process* after_fork() noexcept {
  observe::set_tracing_enabled(false);
  observe::t_thread.set_pipeline(t_paused_pipeline = nullptr);
  observe::t_thread.samples = nullptr;
  observe::t_thread.reports_entries = false;
  observe::set_loop_tree(nullptr);
  observe::t_thread.is_scheduled = false;
  observe::g_is_multithreaded.store(false, std::memory_order_relaxed);
  observe::set_function_observer(nullptr);
  g_agent = nullptr;
  return nullptr;
}

}  // namespace terrace::agent
