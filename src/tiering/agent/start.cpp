// Builds the runtime from the launcher's session, follows threads, and takes everything apart in forked children.
// See process.hpp.
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
#include "agent/ordered_data.hpp"
#include "agent/program_clocks.hpp"
#include "agent/program_coverage.hpp"
#include "agent/program_loops.hpp"
#include "agent/spilled_data.hpp"
#include "agent/watching.hpp"
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
#include "runtime/session/session.hpp"
#include "sim/recording/write/recording_writer.hpp"
#include "sim/scheduler/scheduler.hpp"

namespace terrace::agent {
namespace {
// Several threads' quanta, one at a time, and never beside the runtime.
class SerialSink final : public observe::AccessSink {
 public:
  explicit SerialSink(std::mutex& mutex) : mutex_(mutex) {}
  void add(observe::TallySink& sink) { tee_.add(sink); }
  void quantum(const observe::Quantum& quantum) override {
    const observe::OwnTime own;
    const std::lock_guard lock(mutex_);
    if (scheduler_) scheduler_->advance(quantum.thread, progress(quantum));
    if (recorder_) recorder_->quantum(quantum);
    tee_.quantum(quantum);
    if (runtime_) runtime_->on_quantum(quantum);
  }
  void report_to(runtime::Runtime& runtime) { runtime_ = &runtime; }
  void record_to(sim::RecordingWriter* recorder) { recorder_ = recorder; }
  void report_to(sim::Scheduler& scheduler) { scheduler_ = &scheduler; }

 private:
  // In nominal nanoseconds: one for an access, or for four instructions where there are fewer.
  static std::uint64_t progress(const observe::Quantum& quantum) {
    constexpr std::uint64_t k_miss = 16;
    auto nominal = std::max(quantum.accesses, quantum.instructions / observe::k_instructions_per_access) +
                   k_miss * quantum.misses.size();
    for (const auto& calls : quantum.calls) nominal += observe::k_accesses_per_call * calls.count;
    return nominal;
  }

  std::mutex& mutex_;
  sim::Scheduler* scheduler_ = nullptr;
  observe::Tee tee_;
  runtime::Runtime* runtime_ = nullptr;
  sim::RecordingWriter* recorder_ = nullptr;
};

// Everything that lives as long as the process. Never destroyed: threads may still run when it ends.
struct Everything {
  explicit Everything(runtime::Session given)
      : session(std::move(given)), sink(mutex), clock(mutex), thread_clocks(mutex) {}
  // What is large comes over a file, where that is wanted: address space that is limited is for that.
  [[nodiscard]] Bytes reserve() const {
    return Bytes{session.spill.is_wanted() && address_space_limit() ? 0 : 1ULL << 40};
  }
  runtime::Session session;
  std::mutex mutex;
  SerialSink sink;
  ProgramClock clock;
  EveryThreadClock thread_clocks;
  std::optional<sim::Scheduler> scheduler;
  std::optional<ProgramCoverage> coverage;
  observe::AddressMap map;
  observe::SymbolTable symbols;
  memory::RegionSpace regions{reserve()};
  observe::PipelineConfig pipelines;
  std::optional<ProgramWork> work;
  // Megabytes: on a real machine it is made when the first thread's accesses are wanted.
  std::unique_ptr<observe::SharedCache, void (*)(observe::SharedCache*)> shared{nullptr, nullptr};
  std::mutex making_shared;
  observe::SharedCache& shared_cache() {
    const std::lock_guard lock(making_shared);
    if (!shared) shared = observe::make_shared_cache(pipelines);
    return *shared;
  }
  std::unique_ptr<sim::RecordingWriter> recorder;  // null where nothing is recorded
  std::unique_ptr<runtime::Runtime> runtime;
  observe::FunctionObserver observer;
  FunctionNames names;
  std::optional<ProgramLoops> loops;                               // where the main loop is looked for
  bool observing = true;                                           // accesses are wanted
  runtime::ProfileSource observed = runtime::ProfileSource::none;  // pages say what a program without hooks uses
  std::optional<Watching> watching;
  memory::Ledger* ledger = nullptr;  // of the first configuration
  Process process;
};

Everything* g_everything = nullptr;
void say(const char* text) {
  // Straight to the kernel: the program's own streams may not be there yet.
  [[maybe_unused]] const auto ignored = syscall(SYS_write, STDERR_FILENO, text, std::strlen(text));
}

const char* variable(char** environment, std::string_view name) {
  for (; environment && *environment; ++environment) {
    const std::string_view text(*environment);
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
      return *environment + name.size() + 1;
  }
  return nullptr;
}

bool wants_function(void*, std::uint64_t function) {
  const auto& phases = g_everything->session.phases;
  try {
    const auto name = g_everything->names.learn(g_everything->process, function);
    return std::find(phases.functions.begin(), phases.functions.end(), name) != phases.functions.end();
  } catch (const std::exception&) {
    return false;  // no memory to know it by
  }
}

void function_entered(void*, std::uint64_t function, std::uint64_t call_site) {
  g_everything->runtime->function_entered(function, call_site);
}

// Several configurations share the caches, so the first one's stand for all.
void make_recorder(Everything& all, const sim::ProgramIdentity& program) {
  const auto& session = all.session;
  const auto& configuration = session.configurations.front();
  sim::RecordingHeader header;
  header.identity = program;
  header.caches =
      sim::cache_shape(configuration.machine, configuration.machine.domains()[configuration.domain].initiator);
  header.quantum_accesses = session.quantum_accesses;
  header.chunks_per_object = session.chunk_rule.chunks_per_object;
  header.smallest_chunk = session.chunk_rule.smallest.value;
  header.largest_chunk = session.chunk_rule.largest.value;
  all.recorder = std::make_unique<sim::RecordingWriter>(session.recording, header, [](const std::string& why) {
    char text[512];
    std::snprintf(text, sizeof text, "terrace: the recording of misses ends before the program does: %s\n",
                  why.c_str());
    say(text);
  });
  all.sink.record_to(all.recorder.get());
  all.clock.record_to(all.recorder.get());
  all.thread_clocks.add(*all.recorder);
}

// A thread's pipeline while its accesses are left out: its caches are then as they were.
constinit thread_local observe::Pipeline* t_set_aside __attribute__((tls_model("initial-exec"))) = nullptr;
// For programs with one thread (Runtime::on_multithreaded ends it).
void set_aside_unless(bool wanted) {
  if (wanted == (t_set_aside == nullptr)) return;
  auto* const pipeline = observe::t_thread.pipeline;
  observe::t_thread.set_pipeline(std::exchange(t_set_aside, pipeline));
  set_seen(g_everything->process, wanted);
}

void make_runtime(Everything& all) {
  const auto program = runtime::this_program();
  if (all.session.backend == runtime::Backend::virtual_time && all.session.hooks)
    all.sink.add(all.coverage.emplace().sink());
  if (!all.session.recording.empty()) make_recorder(all, program);
  runtime::RuntimeParts parts;
  parts.events = all.recorder.get();
  for (const auto& configuration : all.session.configurations) {
    auto built = runtime::build_configuration(all.session, configuration, all.observed, program);
    if (auto* const collector = built.watched_pages)
      all.watching.emplace(
          *collector, all.mutex, *built.parts.clock, all.process, all.session,
          [](std::uint64_t function) { g_everything->names.learn(g_everything->process, function); });
    for (auto* sink : built.sinks) all.sink.add(*sink);
    all.clock.add(*built.parts.clock);
    if (built.thread_clocks) all.thread_clocks.add(*built.thread_clocks);
    if (built.parts.totals)
      built.parts.totals = [of_configuration = std::move(built.parts.totals), &all] {
        auto totals = of_configuration();
        totals.unseen = observe::untraced_accesses();
        totals.dropped = observe::unknown_accesses(all.shared_cache());
        if (all.recorder) all.recorder->unobserved(totals.unseen, totals.dropped);
        all.work->write_functions();
        return totals;
      };
    parts.configurations.push_back(std::move(built.parts));
  }
  const auto& first = all.session.configurations.front();
  const auto& initiator = first.machine.initiators()[first.machine.domains()[first.domain].initiator];
  all.pipelines.caches = initiator.caches;
  all.pipelines.tlb = initiator.tlb;
  all.pipelines.line = first.machine.parts().line;
  all.pipelines.miss_registers = initiator.miss_registers;
  all.pipelines.window_accesses = initiator.window;
  all.pipelines.store_buffer = initiator.store_buffer;
  all.pipelines.streams = initiator.streams;
  all.pipelines.quantum_accesses = all.session.quantum_accesses;
  all.work.emplace(all.process, all.session).serve(all.pipelines);
  if (all.session.backend == runtime::Backend::virtual_time) all.shared_cache();
  parts.map = all.session.hooks ? &all.map : nullptr;
  parts.chunk_rule = all.session.chunk_rule;
  parts.phases = all.session.phases;
  parts.progress = &observe::find_progress(all.session.progress);
  parts.domain = first.domain;
  parts.function_name = [](std::uint64_t function) { return g_everything->names.find(function); };
  parts.mutex = &all.mutex;
  parts.flush_accesses = [] {
    if (auto* pipeline = observe::t_thread.pipeline) pipeline->flush(false);
  };
  // In virtual time every access counts that is not left out; on the real machine those that are learned from.
  if (all.observed == runtime::ProfileSource::pages) {
    all.observing = false;
  } else if (all.session.backend == runtime::Backend::real) {
    all.observing = parts.observes_outside = false;
    parts.observe = [](bool wanted) {
      listen(g_everything->process, g_everything->observing = wanted);
      if (!wanted) observe::t_thread.set_pipeline(nullptr);
      if (wanted && !observe::t_thread.pipeline) attach_thread();
    };
  } else if (all.session.sample_every > 1) {
    parts.sample_every = all.session.sample_every;
    parts.observe = set_aside_unless;
  }
  parts.coverage = all.coverage ? &*all.coverage : nullptr;
  all.ledger = parts.configurations.front().ledger;
  all.runtime = std::make_unique<runtime::Runtime>(std::move(parts));
  if (all.watching) all.watching->report_to(*all.runtime);
  all.sink.report_to(*all.runtime);
  for (const auto& note : all.session.notes) all.runtime->note("note", note);
}

// In memory that other processes could map, too: see scheduler.hpp.
void make_turns(Everything& all) {
  void* const page =
      mmap(nullptr, sizeof(sim::SchedulerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw Error(Code::failed, "no memory for the threads' scheduler");
  all.scheduler.emplace(*static_cast<sim::SchedulerPage*>(page), observe::t_thread.number);
  all.sink.report_to(*all.scheduler);
  all.clock.report_to(*all.scheduler);
  all.process.scheduler = &*all.scheduler;
  all.process.thread_clocks = &all.thread_clocks;
  observe::t_thread.is_scheduled = true;
}

void say_limited(const Everything& all) {  // once in a job
  const auto limit = address_space_limit();
  if (!limit || all.regions.reserved().value > 0) return;
  const auto path = all.session.directory + "/" + runtime::k_limit_said;
  const auto file = syscall(SYS_open, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_close, file);
  char text[256];
  std::snprintf(text, sizeof text,
                "terrace: address space is limited (ulimit -v %llu) to less than it takes to manage data: large "
                "blocks come from the program's own allocator, as without terrace\n",
                static_cast<unsigned long long>(limit->value >> 10));
  say(text);
}

Process* build(const char* session_path) {
  auto* all = new Everything(runtime::read_session(session_path));
  g_everything = all;
  for (const auto& file : all->session.symbol_files) all->symbols.add_file(file.c_str());
  all->observed = what_is_observed(all->session);
  make_runtime(*all);
  if (all->session.phases.source == runtime::PhaseSource::functions) {
    all->observer = {wants_function, function_entered, nullptr};
    observe::set_function_observer(&all->observer);
  }
  auto& process = all->process;
  process.runtime = all->runtime.get();
  process.map = all->session.hooks ? &all->map : nullptr;
  process.regions = &all->regions;
  process.symbols = &all->symbols;
  process.work = &*all->work;
  process.clock = &all->clock;
  process.code = all->coverage ? &all->coverage->code() : nullptr;
  process.learns = runtime::learns(all->session);
  process.simulated = all->session.backend == runtime::Backend::virtual_time;
  if (process.simulated) make_turns(*all);
  process.big_block = all->session.big_block.value;
  if (prepare_spilled(all->session, say)) {
    process.make_spilled = make_spilled;
    if (!all->session.spill.plan.empty()) process.preference_of = preference_of;
    process.spilled_memory = all->session.spill.memory.value;
    process.end_spilled = end_spilled;
    process.confined_over_file = say_confined_over_file;
  }
  if (process.make_spilled) process.big_block = std::max<std::uint64_t>(process.big_block, k_big_block);
  if (!all->session.spill.is_wanted()) say_limited(*all);
  if (all->watching) {
    process.begin_watching = [] { g_everything->watching->begin(); };
    process.end_watching = [] { g_everything->watching->end(); };
  }
  process.ordered = make_ordered(all->session, *all->ledger, say);
  if (all->session.hooks && all->session.phases.detects_loops()) {
    process.loops = &all->loops.emplace(process, all->session.phases);
    process.loops->follow(process.simulated, all->session.sample_every);
  }
  process.started_unix_ns = runtime::real_time_ns();
  return &process;
}
}  // namespace

Process* start(char** environment) noexcept {
  const char* const switched = variable(environment, "TERRACE");
  if (switched && std::string_view(switched) == "off") return nullptr;
  const char* const path = variable(environment, runtime::k_session_variable);
  if (!path || runtime::is_session_gone(path)) return nullptr;
  try {
    return build(path);
  } catch (const std::exception& error) {
    if (runtime::is_session_gone(path)) {
      g_everything = nullptr;
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
    say(text);
    g_everything = nullptr;
    return nullptr;
  }
}

void attach_thread() noexcept {
  auto* const all = g_everything;
  if (!all) return;
  auto& thread = observe::t_thread;
  thread.reports_entries = all->session.phases.source == runtime::PhaseSource::functions;
  if (!all->session.hooks || !all->observing || thread.pipeline) return;
  const observe::Inside inside;
  if (all->coverage) all->coverage->begin_thread();
  try {
    // A thread's pipeline outlives it: what its caches hold is still to be written back.
    thread.set_pipeline(new observe::Pipeline(
        all->pipelines, all->shared_cache(), all->map, all->sink, thread.number,
        [](std::uint64_t address) { return make_known(address); }, next_turn));
    observe::set_tracing_enabled(true);
  } catch (const std::exception&) {
    thread.set_pipeline(nullptr);
  }
}

void detach_thread() noexcept {
  auto& thread = observe::t_thread;
  const observe::Inside inside;
  if (thread.pipeline) thread.pipeline->flush();
  thread.set_pipeline(t_set_aside = nullptr);
  if (g_everything && g_everything->coverage) g_everything->coverage->end_thread();
}

// The mover's thread and the other threads are not in the child, and its pages are copies in the making: it is
// left alone until it becomes another program. What they had locked stays locked there (the runtime, the caches,
// the map of addresses), so nothing may lead the child to it any more; what it still needs, to free its blocks,
// was locked before the fork (startup.cpp).
Process* after_fork() noexcept {
  observe::set_tracing_enabled(false);
  observe::t_thread.set_pipeline(t_set_aside = nullptr);
  observe::t_thread.samples = nullptr;
  observe::t_thread.reports_entries = false;
  observe::set_loop_tree(nullptr);
  observe::t_thread.is_scheduled = false;
  observe::g_is_multithreaded.store(false, std::memory_order_relaxed);
  observe::set_function_observer(nullptr);
  g_everything = nullptr;
  return nullptr;
}

}  // namespace terrace::agent
