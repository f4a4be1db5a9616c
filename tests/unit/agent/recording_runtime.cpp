// Implements Runtime by calls of a recording function. See recording_runtime.hpp.
#include "recording_runtime.hpp"

#include <mutex>
#include <utility>

#include "observe/program_events.hpp"
#include "observe/threads/thread.hpp"
#include "runtime/runtime_parts.hpp"

namespace terrace::runtime {

namespace {
std::function<void(const test::RecordedCall&)>* g_next_listener =
    nullptr;  // for the constructor, which has its own argument
}

struct Runtime::State {
  std::function<void(const test::RecordedCall&)> tell;
  std::mutex mutex;
  ObjectId next = 0;
  double calls = 0;  // of now()

  void event(std::string name) {
    const observe::RuntimeScope inside;
    const std::lock_guard lock(mutex);
    tell({test::RecordedCall::What::event, 0, std::move(name)});
  }
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): the runtime's own signature
Runtime::Runtime(RuntimeParts) : state_(std::make_unique<State>()) { state_->tell = std::move(*g_next_listener); }
Runtime::~Runtime() = default;

ObjectId Runtime::add_object(std::string_view name, observe::ObjectKind kind, const void* address, Bytes size,
                             bool) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(state_->mutex);
  const auto id = state_->next++;
  state_->tell({test::RecordedCall::What::added, id, std::string(name), kind,
                reinterpret_cast<std::uint64_t>(address), size.value});
  return id;
}

bool Runtime::remove_object(ObjectId object) noexcept {
  const observe::RuntimeScope inside;
  const std::lock_guard lock(state_->mutex);
  state_->tell({test::RecordedCall::What::removed, object, {}});
  return true;
}

void Runtime::grow_object(ObjectId, Bytes) noexcept {}
std::string Runtime::on_hint(const observe::ProgramHint& hint) noexcept {
  state_->event("hint " + std::to_string(static_cast<int>(hint.what)) + " " + std::string(hint.of) + " " +
                std::string(hint.says) + " " + std::to_string(hint.value));
  return hint.of == "wrong" ? "it is wrong" : "";
}
void Runtime::loop_begin(std::string_view name) noexcept { state_->event("loop_begin " + std::string(name)); }
void Runtime::loop_begin(const observe::NewLoop& loop) noexcept { loop_begin(loop.name); }
void Runtime::loop_end() noexcept { state_->event("loop_end"); }
void Runtime::phase(std::string_view name) noexcept { state_->event("phase " + std::string(name)); }
void Runtime::function_entered(std::uint64_t, std::uint64_t) noexcept {}
void Runtime::on_multithreaded() noexcept {}
// Advances by a millisecond per call: predictable virtual time.
Seconds Runtime::now() noexcept { return {++state_->calls * 1e-3}; }
const char* Runtime::where(const void*) noexcept { return "everywhere"; }
void Runtime::note(std::string_view severity, std::string_view text) noexcept {
  state_->event(std::string(severity) + " " + std::string(text));
}
void Runtime::finish(std::string_view how) noexcept { state_->event("finish " + std::string(how)); }

}  // namespace terrace::runtime

namespace terrace::test {

std::unique_ptr<runtime::Runtime> make_recording_runtime(std::function<void(const RecordedCall&)> tell) {
  runtime::g_next_listener = &tell;
  runtime::RuntimeParts nothing;
  return std::make_unique<runtime::Runtime>(std::move(nothing));
}

}  // namespace terrace::test
