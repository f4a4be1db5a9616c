// One ordered stream of events: before an event that ends something, the accesses so far are brought in; then the
// event goes to the program. Two locks, always in this order: that of the events, so that what is brought in
// belongs to the event behind it; that of the program, which quanta take too. See runtime.hpp.
#include "runtime/runtime.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/phase_source.hpp"
#include "runtime/program.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

struct Runtime::State {
  explicit State(RuntimeParts parts)
      : mutex(parts.mutex ? *parts.mutex : own_mutex),
        bring_accesses(std::move(parts.bring_accesses)),
        progress(*parts.progress),
        sources(std::move(parts.phases), std::move(parts.function_name)),
        program(std::move(parts)) {}

  // Accesses so far come before what follows.
  void bring() {
    if (bring_accesses) bring_accesses();
  }
  template <class Work>
  void event(Work work) noexcept;
  template <class Work>
  void tell(Work work) {
    const std::lock_guard lock(mutex);
    work(program);
  }
  void end_loop() {
    if (!program.in_loop()) return;
    bring();
    tell([](Program& to) { to.loop_ended(); });
  }
  void begin_loop(const observe::NewLoop& loop) {
    end_loop();
    bring();
    tell([&](Program& to) { to.loop_begun(loop); });
  }
  void begin_phase(std::string_view name, bool is_late = false) {
    if (!program.in_loop()) return;
    bring();
    tell([&](Program& to) { to.phase_begun(name, is_late); });
  }
  // A loop that was found before the program spoke for itself is none.
  void mark() {
    if (sources.mark()) end_loop();
  }
  void pass(const Boundary& boundary) {
    if (boundary.expects_iteration) return program.expect_iteration();
    if (boundary.ends_loop) end_loop();
    if (!boundary.begins_loop.empty())
      begin_loop(
          {boundary.begins_loop, boundary.why, boundary.turns_before, boundary.by_time, boundary.work_share});
    program.hold_sampling(boundary.is_unsure);
    if (!boundary.phase.empty()) begin_phase(boundary.phase, boundary.is_late);
  }

  std::mutex events_mutex;  // one event at a time; what it protects is read with it alone
  std::mutex own_mutex;
  std::mutex& mutex;  // of the program
  std::function<void()> bring_accesses;
  const observe::ProgressVariant& progress;
  PhaseSources sources;
  Program program;
  bool finished = false;
  bool failed = false;
};

// Every entry from outside: what it does is Terrace's own doing, and whatever goes wrong stays in here; the
// program goes on without management.
template <class Work>
void Runtime::State::event(Work work) noexcept {
  const observe::OwnTime own;
  const observe::Inside inside;
  const std::lock_guard lock(events_mutex);
  if (finished) return;
  try {
    work();
  } catch (const std::exception& error) {
    if (std::exchange(failed, true)) return;
    try {
      tell([&](Program& to) {
        to.warn_configurations(std::string("Terrace went on without an event: ") + error.what());
      });
    } catch (const std::exception&) {  // no memory to say it with
      return;
    }
  }
}

Runtime::Runtime(RuntimeParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Runtime::~Runtime() = default;

ObjectId Runtime::add_object(std::string_view name, observe::ObjectKind kind, const void* address,
                             Bytes size) noexcept {
  auto id = ~ObjectId{0};
  state_->event([&] {
    state_->tell(
        [&](Program& to) { id = to.add_object(name, kind, reinterpret_cast<std::uint64_t>(address), size); });
  });
  return id;
}

void Runtime::grow_object(ObjectId id, Bytes size) noexcept {
  state_->event([&] { state_->tell([&](Program& to) { to.grow_object(id, size); }); });
}

void Runtime::remove_object(ObjectId id) noexcept {
  state_->event([&] {
    if (!state_->program.is_live(id)) return;
    state_->bring();
    state_->tell([&](Program& to) { to.remove_object(id); });
  });
}

std::string Runtime::hinted(const observe::ProgramHint& hint) noexcept {
  std::string complaint;
  state_->event([&] {
    try {
      state_->tell([&](Program& to) { to.hinted(hint); });
    } catch (const Error& error) {
      complaint = error.what();
    }
  });
  return complaint;
}

void Runtime::loop_begin(std::string_view name) noexcept { loop_begin(observe::NewLoop{name}); }

void Runtime::loop_begin(const observe::NewLoop& loop) noexcept {
  state_->event([&] {
    if (!state_->sources.by_markers()) return;
    state_->mark();
    state_->begin_loop(loop);
  });
}

void Runtime::loop_end() noexcept {
  state_->event([&] {
    if (state_->sources.by_markers()) state_->end_loop();
  });
}

void Runtime::phase(std::string_view name) noexcept {
  state_->event([&] {
    if (!state_->sources.by_markers()) return;
    state_->mark();
    state_->begin_phase(name);
  });
}

void Runtime::function_entered(std::uint64_t function, std::uint64_t) noexcept {
  state_->event([&] { state_->pass(state_->sources.function_entered(function, state_->program.in_loop())); });
}

void Runtime::pass(const Boundary& boundary) noexcept {
  state_->event([&] {
    if (state_->sources.by_finding()) state_->pass(boundary);
  });
}

bool Runtime::looks_for_loops() noexcept {
  bool looks = false;
  state_->event([&] { looks = state_->sources.by_finding(); });
  return looks;
}

// The caller holds the program's lock, as it has just told the configurations of these accesses.
void Runtime::progressed(const observe::Quantum& quantum) noexcept {
  auto& state = *state_;
  if (state.finished) return;
  try {
    state.program.progressed(quantum.thread, state.progress.progress_of(quantum), quantum.in_stride);
  } catch (const std::exception& error) {
    if (!std::exchange(state.failed, true))
      state.program.warn_configurations(std::string("Terrace went on without an event: ") + error.what());
  }
}

void Runtime::several_threads() noexcept {
  state_->event([&] { state_->tell([](Program& to) { to.several_threads(); }); });
}

Seconds Runtime::now() noexcept {
  Seconds result;
  state_->event([&] {
    state_->bring();
    state_->tell([&](Program& to) { result = to.now(); });
  });
  return result;
}

std::string Runtime::object_name(ObjectId id) noexcept { return state_->program.object_name(id); }

bool Runtime::is_own_mapping(ObjectId id) noexcept { return state_->program.is_own_mapping(id); }

const char* Runtime::where(const void* address) noexcept {
  const char* name = nullptr;
  state_->event(
      [&] { state_->tell([&](Program& to) { name = to.where(reinterpret_cast<std::uint64_t>(address)); }); });
  return name;
}

void Runtime::note(std::string_view severity, std::string_view text) noexcept {
  state_->event([&] { state_->tell([&](Program& to) { to.note(severity, text); }); });
}

void Runtime::loops_seen(const profile::LoopsRecord& loops) noexcept {
  state_->event([&] { state_->tell([&](Program& to) { to.loops_seen(loops); }); });
}

void Runtime::finish(std::string_view how) noexcept {
  state_->event([&] {
    state_->end_loop();
    state_->bring();
    state_->tell([&](Program& to) {
      // A name that was mistyped, or whose function the compiler put into its callers.
      for (const auto& name : state_->sources.missing())
        to.note("warning", "--phases: no function '" + name + "' was entered");
      to.finish(how);
    });
    state_->finished = true;
  });
}

}  // namespace terrace::runtime
