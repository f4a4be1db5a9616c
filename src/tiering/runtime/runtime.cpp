// SPDX-License-Identifier: Apache-2.0
// Implements one ordered stream of events. Before an event that ends something, the accesses so far are flushed;
// then the event goes to the program. Lock order: events_mutex first, so that flushed accesses belong to the event
// that follows; then the program lock, which quanta take too. See runtime.hpp.
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
        flush_callback(std::move(parts.flush_accesses)),
        progress(*parts.progress),
        sources(std::move(parts.phases), std::move(parts.function_name)),
        program(std::move(parts)) {}

  // Passes all accesses so far to the program, so that they precede the next event.
  void flush_accesses() {
    if (flush_callback) flush_callback();
  }
  template <class Work>
  void handle_event(Work work) noexcept;
  template <class Work>
  void with_program_lock(Work work) {
    const std::lock_guard lock(mutex);
    work(program);
  }
  void end_loop() {
    if (!program.in_loop()) return;
    flush_accesses();
    with_program_lock([](Program& to) { to.on_loop_end(); });
  }
  void begin_loop(const observe::NewLoop& loop) {
    end_loop();
    flush_accesses();
    with_program_lock([&](Program& to) { to.on_loop_begin(loop); });
  }
  void begin_phase(std::string_view name, bool is_late = false) {
    if (!program.in_loop()) return;
    flush_accesses();
    with_program_lock([&](Program& to) { to.on_phase_begin(name, is_late); });
  }
  // Explicit markers override auto-detection: ends a loop that was detected before the first marker.
  void switch_to_explicit_markers() {
    if (sources.switch_to_explicit_markers()) end_loop();
  }
  void apply(const PhaseBoundary& boundary) {
    if (boundary.expects_iteration) return program.expect_iteration();
    if (boundary.ends_loop) end_loop();
    if (!boundary.begins_loop.empty())
      begin_loop(
          {boundary.begins_loop, boundary.why, boundary.iterations_before, boundary.by_time, boundary.work_share});
    program.set_observe_all_iterations(boundary.is_unsure);
    if (!boundary.phase.empty()) begin_phase(boundary.phase, boundary.is_late);
  }

  std::mutex events_mutex;  // serialises events
  std::mutex own_mutex;
  std::mutex& mutex;  // the program lock
  std::function<void()> flush_callback;
  const observe::ProgressVariant& progress;
  PhaseSourceSelector sources;
  Program program;
  bool finished = false;
  bool failed = false;
};

// Runs an entry point of the API. Marks the work as Terrace's own, ignores it after finish(), and contains every
// exception: the program then continues without management of this event.
template <class Work>
void Runtime::State::handle_event(Work work) noexcept {
  const observe::OwnTimeScope own;
  const observe::RuntimeScope inside;
  const std::lock_guard lock(events_mutex);
  if (finished) return;
  try {
    work();
  } catch (const std::exception& error) {
    if (std::exchange(failed, true)) return;
    try {
      with_program_lock(
          [&](Program& to) { to.warn_configurations(std::string("Terrace ignored an event: ") + error.what()); });
    } catch (const std::exception&) {  // out of memory: the warning is lost
      return;
    }
  }
}

Runtime::Runtime(RuntimeParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Runtime::~Runtime() = default;

ObjectId Runtime::add_object(std::string_view name, observe::ObjectKind kind, const void* address,
                             Bytes size) noexcept {
  auto id = ~ObjectId{0};
  state_->handle_event([&] {
    state_->with_program_lock(
        [&](Program& to) { id = to.add_object(name, kind, reinterpret_cast<std::uint64_t>(address), size); });
  });
  return id;
}

void Runtime::grow_object(ObjectId id, Bytes size) noexcept {
  state_->handle_event([&] { state_->with_program_lock([&](Program& to) { to.grow_object(id, size); }); });
}

void Runtime::remove_object(ObjectId id) noexcept {
  state_->handle_event([&] {
    if (!state_->program.is_live(id)) return;
    state_->flush_accesses();
    state_->with_program_lock([&](Program& to) { to.remove_object(id); });
  });
}

std::string Runtime::on_hint(const observe::ProgramHint& hint) noexcept {
  std::string complaint;
  state_->handle_event([&] {
    try {
      state_->with_program_lock([&](Program& to) { to.on_hint(hint); });
    } catch (const Error& error) {
      complaint = error.what();
    }
  });
  return complaint;
}

void Runtime::loop_begin(std::string_view name) noexcept { loop_begin(observe::NewLoop{name}); }

void Runtime::loop_begin(const observe::NewLoop& loop) noexcept {
  state_->handle_event([&] {
    if (!state_->sources.uses_markers()) return;
    state_->switch_to_explicit_markers();
    state_->begin_loop(loop);
  });
}

void Runtime::loop_end() noexcept {
  state_->handle_event([&] {
    if (state_->sources.uses_markers()) state_->end_loop();
  });
}

void Runtime::phase(std::string_view name) noexcept {
  state_->handle_event([&] {
    if (!state_->sources.uses_markers()) return;
    state_->switch_to_explicit_markers();
    state_->begin_phase(name);
  });
}

void Runtime::function_entered(std::uint64_t function, std::uint64_t) noexcept {
  state_->handle_event(
      [&] { state_->apply(state_->sources.function_entered(function, state_->program.in_loop())); });
}

void Runtime::on_phase_boundary(const PhaseBoundary& boundary) noexcept {
  state_->handle_event([&] {
    if (state_->sources.uses_detection()) state_->apply(boundary);
  });
}

bool Runtime::is_detecting_loops() noexcept {
  bool looks = false;
  state_->handle_event([&] { looks = state_->sources.uses_detection(); });
  return looks;
}

// The caller holds the program lock, because it has just passed these accesses to the configurations.
void Runtime::on_quantum(const observe::Quantum& quantum) noexcept {
  auto& state = *state_;
  if (state.finished) return;
  try {
    state.program.on_progress(quantum.thread, state.progress.progress_of(quantum), quantum.in_stride);
  } catch (const std::exception& error) {
    if (!std::exchange(state.failed, true))
      state.program.warn_configurations(std::string("Terrace ignored an event: ") + error.what());
  }
}

void Runtime::on_multithreaded() noexcept {
  state_->handle_event([&] { state_->with_program_lock([](Program& to) { to.on_multithreaded(); }); });
}

Seconds Runtime::now() noexcept {
  Seconds result;
  state_->handle_event([&] {
    state_->flush_accesses();
    state_->with_program_lock([&](Program& to) { result = to.now(); });
  });
  return result;
}

std::string Runtime::object_name(ObjectId id) noexcept { return state_->program.object_name(id); }

bool Runtime::is_own_mapping(ObjectId id) noexcept { return state_->program.is_own_mapping(id); }

const char* Runtime::where(const void* address) noexcept {
  const char* name = nullptr;
  state_->handle_event([&] {
    state_->with_program_lock([&](Program& to) { name = to.where(reinterpret_cast<std::uint64_t>(address)); });
  });
  return name;
}

void Runtime::note(std::string_view severity, std::string_view text) noexcept {
  state_->handle_event([&] { state_->with_program_lock([&](Program& to) { to.note(severity, text); }); });
}

void Runtime::on_loop_candidates(const profile::LoopsRecord& loops) noexcept {
  state_->handle_event([&] { state_->with_program_lock([&](Program& to) { to.on_loop_candidates(loops); }); });
}

void Runtime::finish(std::string_view how) noexcept {
  state_->handle_event([&] {
    state_->end_loop();
    state_->flush_accesses();
    state_->with_program_lock([&](Program& to) {
      // The name was misspelt, or the compiler inlined its function.
      for (const auto& name : state_->sources.functions_not_entered())
        to.note("warning", "--phases: no function '" + name + "' was entered");
      to.finish(how);
    });
    state_->finished = true;
  });
}

}  // namespace terrace::runtime
