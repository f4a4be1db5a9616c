// SPDX-License-Identifier: Apache-2.0
// Implements the entry points that the agent and replay call as one ordered stream of events. Before an event that
// ends something, the accesses so far are flushed; then the event goes to the program. See runtime.hpp.
//
// Two locks, because a flush belongs to the event that follows it, and passes its quantum (the thread's accesses
// since the last) through the sinks, which take the program lock: `events_mutex` covers the whole event, the
// program lock the event without its flushes.
#include "runtime/runtime.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "observe/coverage/time_samples.hpp"
#include "observe/pipeline/pipeline.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/phase_source.hpp"
#include "runtime/program.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

struct Runtime::State {
  explicit State(RuntimeParts parts)
      : program_lock(parts.mutex ? *parts.mutex : own_mutex, std::defer_lock),
        progress(*parts.progress),
        sources(std::move(parts.phases), std::move(parts.function_name)),
        program(std::move(parts)) {}

  // Runs an entry point of the API. Marks the work as Terrace's own, ignores it after finish(), and contains every
  // exception: the program then continues without management of this event.
  template <class Work>
  void locked_event(Work work) noexcept {
    const observe::OwnTimeScope own;
    const observe::RuntimeScope inside;
    const std::lock_guard lock(events_mutex);
    if (finished) return;
    try {
      work();
    } catch (const std::exception& error) {
      locked_program();
      warn_once(error);
    }
    if (program_lock) program_lock.unlock();
  }
  // Returns the program, locked until the next flush or the end of the event.
  Program& locked_program() {
    if (!program_lock) program_lock.lock();
    return program;
  }
  // Passes all accesses of the thread so far to the program, so that they precede the event. Returns the program,
  // locked.
  Program& flushed_program() {
    if (program_lock) program_lock.unlock();
    if (auto* const pipeline = observe::t_thread.pipeline) pipeline->flush(false);
    return locked_program();
  }
  // Notes the first failure of an event. Requires: program lock.
  void warn_once(const std::exception& error) noexcept {
    if (std::exchange(failed, true)) return;
    try {
      program.warn_configurations(std::string("Terrace ignored an event: ") + error.what());
    } catch (const std::exception&) {  // out of memory: the warning is lost
      return;
    }
  }
  void end_loop() {
    if (program.in_loop()) flushed_program().on_loop_end();
  }
  void begin_loop(const observe::NewLoop& loop) {
    end_loop();
    flushed_program().on_loop_begin(loop);
  }
  void begin_phase(std::string_view name, bool is_late = false) {
    if (program.in_loop()) flushed_program().on_phase_begin(name, is_late);
  }
  // Explicit markers override auto-detection: ends a loop that was detected before the first marker.
  void switch_to_explicit_markers() {
    if (sources.switch_to_explicit_markers()) end_loop();
  }
  // Executes the events of a boundary, of any source.
  void apply(const PhaseBoundary& boundary) {
    if (boundary.expects_iteration) return program.expect_iteration();
    if (boundary.ends_loop) end_loop();
    if (!boundary.begins_loop.empty()) begin_loop(boundary.loop());
    program.set_observe_all_iterations(boundary.is_unsure);
    if (!boundary.phase.empty()) begin_phase(boundary.phase, boundary.is_late);
  }

  std::mutex events_mutex;  // serialises events; locked before the program lock
  std::mutex own_mutex;
  std::unique_lock<std::mutex> program_lock;  // guarded by events_mutex
  const observe::ProgressVariant& progress;
  PhaseSourceSelector sources;
  Program program;
  bool finished = false;  // written under both locks
  bool failed = false;    // guarded by the program lock
};

Runtime::Runtime(RuntimeParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Runtime::~Runtime() = default;

ObjectId Runtime::add_object(std::string_view name, observe::ObjectKind kind, const void* address, Bytes size,
                             bool is_at_home) noexcept {
  auto id = ~ObjectId{0};
  state_->locked_event([&] {
    id = state_->locked_program().add_object(name, kind, reinterpret_cast<std::uint64_t>(address), size,
                                             is_at_home);
  });
  return id;
}

void Runtime::grow_object(ObjectId id, Bytes size) noexcept {
  state_->locked_event([&] { state_->locked_program().grow_object(id, size); });
}

bool Runtime::remove_object(ObjectId id) noexcept {
  bool was_at_home = false;
  state_->locked_event([&] {
    if (state_->program.is_live(id)) was_at_home = state_->flushed_program().remove_object(id);
  });
  return was_at_home;
}

std::string Runtime::on_hint(const observe::ProgramHint& hint) noexcept {
  std::string complaint;
  state_->locked_event([&] {
    try {
      state_->locked_program().on_hint(hint);
    } catch (const Error& error) {
      complaint = error.what();
    }
  });
  return complaint;
}

void Runtime::loop_begin(std::string_view name) noexcept { loop_begin(observe::NewLoop{name}); }

void Runtime::loop_begin(const observe::NewLoop& loop) noexcept {
  state_->locked_event([&] {
    if (!state_->sources.uses_markers()) return;
    state_->switch_to_explicit_markers();
    state_->begin_loop(loop);
  });
}

void Runtime::loop_end() noexcept {
  state_->locked_event([&] {
    if (state_->sources.uses_markers()) state_->end_loop();
  });
}

void Runtime::phase(std::string_view name) noexcept {
  state_->locked_event([&] {
    if (!state_->sources.uses_markers()) return;
    state_->switch_to_explicit_markers();
    state_->begin_phase(name);
  });
}

void Runtime::function_entered(std::uint64_t function, std::uint64_t) noexcept {
  state_->locked_event(
      [&] { state_->apply(state_->sources.function_entered(function, state_->program.in_loop())); });
}

void Runtime::on_phase_boundary(const PhaseBoundary& boundary) noexcept {
  state_->locked_event([&] {
    if (state_->sources.uses_detection()) state_->apply(boundary);
  });
}

bool Runtime::is_detecting_loops() noexcept {
  bool looks = false;
  state_->locked_event([&] { looks = state_->sources.uses_detection(); });
  return looks;
}

// The caller holds the program lock, because it has just passed these accesses to the configurations.
void Runtime::on_quantum(const observe::Quantum& quantum) noexcept {
  auto& state = *state_;
  if (state.finished) return;
  try {
    state.program.on_progress(quantum.thread, state.progress.progress_of(quantum), quantum.in_stride);
  } catch (const std::exception& error) {
    state.warn_once(error);
  }
}

void Runtime::on_multithreaded() noexcept {
  state_->locked_event([&] { state_->locked_program().on_multithreaded(); });
}

Seconds Runtime::now() noexcept {
  Seconds result;
  state_->locked_event([&] { result = state_->flushed_program().now(); });
  return result;
}

std::string Runtime::object_name(ObjectId id) noexcept { return state_->program.object_name(id); }

bool Runtime::is_own_mapping(ObjectId id) noexcept { return state_->program.is_own_mapping(id); }

const char* Runtime::where(const void* address) noexcept {
  const char* name = nullptr;
  state_->locked_event([&] { name = state_->locked_program().where(reinterpret_cast<std::uint64_t>(address)); });
  return name;
}

void Runtime::note(std::string_view severity, std::string_view text) noexcept {
  state_->locked_event([&] { state_->locked_program().note(severity, text); });
}

void Runtime::on_loop_candidates(const profile::LoopsRecord& loops) noexcept {
  state_->locked_event([&] { state_->locked_program().on_loop_candidates(loops); });
}

void Runtime::on_mpi_statistics(const profile::MpiRecord& mpi) noexcept {
  state_->locked_event([&] { state_->locked_program().on_mpi_statistics(mpi); });
}

void Runtime::finish(std::string_view how) noexcept {
  state_->locked_event([&] {
    state_->end_loop();
    auto& program = state_->flushed_program();
    for (const auto& name : state_->sources.functions_not_entered())
      program.note("warning", "--phases: no function '" + name +
                                  "' was entered; the name is misspelt, or the compiler inlined it");
    program.finish(how);
    state_->finished = true;
  });
}

}  // namespace terrace::runtime
