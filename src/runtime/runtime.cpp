// The runtime as the front doors see it: keeps the table of objects, cuts them into chunks, tracks the phases, and
// passes every event on to its worlds. See runtime.hpp.
#include "runtime/runtime.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "access/address_map.hpp"
#include "access/thread.hpp"
#include "access/time_samples.hpp"
#include "base/error.hpp"
#include "runtime/following.hpp"
#include "runtime/phase_finder.hpp"
#include "runtime/phase_tracker.hpp"
#include "runtime/reach.hpp"
#include "runtime/runtime_parts.hpp"
#include "runtime/world.hpp"

namespace terrace::runtime {

using memory::ChunkId;
using memory::ObjectId;

struct Runtime::State {
  explicit State(RuntimeParts given) : parts(std::move(given)), following(parts.follow_every) {
    for (auto& world : parts.worlds) worlds.emplace_back(std::move(world), parts.granule, parts.domain);
    entered.resize(parts.phases.functions.size());
  }
  // Brings every access so far to the worlds. What is flushed belongs to the phase that ends: no segment begins.
  void flush() {
    flushing = true;
    if (parts.flush) parts.flush();
    flushing = false;
  }
  void marker(std::string_view name);
  void end_phase();
  void follow(bool wanted);
  void follow_everything();
  void begin_loop(std::string_view name);
  void end_loop();
  std::string unique_name(std::string_view name);
  void map_chunks(const ObjectMemory& memory);
  ObjectId add(std::string_view name, profile::ObjectKind kind, std::uint64_t address, Bytes size);
  void named_function(std::uint64_t function);
  void any_function(std::uint64_t function);
  void note_missing_functions();
  void write_reach();
  void note(std::string_view severity, std::string_view text);
  template <class Work>
  void enter(Work work) noexcept;

  std::recursive_mutex own_mutex;
  RuntimeParts parts;
  std::vector<World> worlds;
  std::vector<profile::Object> objects;  // by id
  std::vector<std::uint64_t> addresses;  // by id
  std::unordered_map<std::string, std::uint32_t> names;
  ChunkId next_chunk = 0;
  PhaseTracker tracker;
  Following following;
  bool phase_followed = true;  // this phase, from its first access on
  PhaseFinder finder;
  std::vector<bool> entered;                                          // by function that the user named
  std::unordered_map<std::uint64_t, std::uint32_t> function_numbers;  // by address
  std::vector<std::string> function_names;                            // by number
  bool flushing = false;
  bool finished = false;
  bool failed = false;
};

std::string Runtime::State::unique_name(std::string_view name) {
  const auto count = ++names[std::string(name)];
  return count == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(count);
}

void Runtime::State::map_chunks(const ObjectMemory& memory) {
  if (!parts.map) return;
  const auto& object = memory.object;
  access::Location location;
  if (!parts.map->find(memory.address, location)) parts.map->add_range(memory.address, object.size.value);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    parts.map->set_chunk(memory.address + offset, std::min(object.chunk_size.value, object.size.value - offset),
                         object.first_chunk + i);
  }
}

void Runtime::State::begin_loop(std::string_view name) {
  if (tracker.in_loop()) end_loop();
  flush();
  tracker.begin_loop(name);
  following.begin_loop();
  for (auto& world : worlds) world.loop_begin(tracker, objects);
  if (parts.reach) parts.reach->set_in_loop(true);
  if (parts.events) parts.events->loop_begun(name);
}

void Runtime::State::end_loop() {
  if (!tracker.in_loop()) return;
  flush();
  if (tracker.in_phase()) end_phase();
  for (auto& world : worlds) world.loop_end(tracker, following.iterations());
  const bool paused = !following.now();
  following.end_loop();
  if (paused) follow(true);
  if (parts.reach) parts.reach->set_in_loop(false);
  write_reach();
  tracker.end_loop();
  if (parts.events) parts.events->loop_ended();
}

// Phases by the functions that the user named: the first of them begins the loop, and every iteration.
void Runtime::State::named_function(std::uint64_t function) {
  const auto name = parts.function_name ? parts.function_name(function) : std::string();
  const auto& wanted = parts.phases.functions;
  const auto found = std::find(wanted.begin(), wanted.end(), name);
  if (found == wanted.end()) return;
  entered[static_cast<std::size_t>(found - wanted.begin())] = true;
  if (!tracker.in_loop() && found == wanted.begin()) begin_loop("(functions)");
  marker(name);
}

// A name that was mistyped, or whose function the compiler put into its callers.
void Runtime::State::note_missing_functions() {
  if (parts.phases.source != PhaseSource::functions) return;
  for (std::size_t i = 0; i < entered.size(); ++i)
    if (!entered[i]) note("warning", "--phases: no function '" + parts.phases.functions[i] + "' was entered");
}

void Runtime::State::write_reach() {
  const auto reach = parts.reach ? parts.reach->so_far() : std::nullopt;
  if (!reach) return;
  for (auto& world : worlds) world.reached(*reach);
  if (!parts.events) return;
  BlobWriter record;
  profile::encode(record, *reach);
  parts.events->reached(record.bytes());
}

void Runtime::State::note(std::string_view severity, std::string_view text) {
  for (auto& world : worlds) world.note(severity, text);
  if (parts.events) parts.events->noted(severity, text);
}

// Phases that are found: every entry goes to the finder until it believes in a loop.
void Runtime::State::any_function(std::uint64_t function) {
  const auto [entry, is_new] =
      function_numbers.try_emplace(function, static_cast<std::uint32_t>(function_numbers.size()));
  if (is_new) function_names.push_back(parts.function_name ? parts.function_name(function) : std::string());
  const auto step = finder.entered(entry->second);
  if (step.event == PhaseFinder::Event::broken) return end_loop();
  if (step.event == PhaseFinder::Event::none) return;
  if (!tracker.in_loop()) begin_loop("(found)");
  // Names are made unique by their position: the tracker knows an iteration by the name of its first phase.
  const auto& period = finder.period();
  const auto& name = function_names[entry->second];
  const auto same = std::count(period.begin(), period.begin() + step.position, period[step.position]);
  marker(same == 0 ? name : name + "#" + std::to_string(same + 1));
}

void Runtime::State::marker(std::string_view name) {
  if (!tracker.in_loop()) return;
  flush();
  if (tracker.in_phase()) end_phase();
  const bool begins_iteration = tracker.marker(name) == PhaseTracker::Step::iteration;
  const bool paused = !following.now();
  phase_followed = following.phase(tracker, begins_iteration);
  for (auto& world : worlds) {
    world.phase_begin(tracker, begins_iteration, phase_followed, objects);
    if (following.samples() && phase_followed) world.begin_measuring();
  }
  if (begins_iteration || (paused && phase_followed))
    follow(phase_followed &&
           std::any_of(worlds.begin(), worlds.end(), [](const World& world) { return world.listens(); }));
  if (parts.events) parts.events->phase_begun(name);
}

void Runtime::State::end_phase() {
  for (auto& world : worlds) {
    if (following.samples() && phase_followed) world.keep_measured(tracker);
    if (!following.now()) world.carry_over(tracker);
    world.phase_end(tracker, phase_followed);
  }
}

void Runtime::State::follow(bool wanted) {
  if (parts.follow) parts.follow(wanted);
  if (parts.reach) parts.reach->set_followed(wanted);
}

// What was left out of this phase counts as the whole of the last one of its like: nobody knows how much it was.
void Runtime::State::follow_everything() {
  const bool paused = !following.now();
  following.everything();
  if (!paused) return;
  for (auto& world : worlds) world.carry_over(tracker);
  follow(true);
}

// Every entry from outside: what it does is Terrace's own doing, one thread at a time, and whatever goes wrong
// stays in here; the program goes on without management.
template <class Work>
void Runtime::State::enter(Work work) noexcept {
  const access::OwnTime own;
  const access::Inside inside;
  const std::lock_guard lock(parts.mutex ? *parts.mutex : own_mutex);
  if (finished) return;
  try {
    work();
  } catch (const std::exception& error) {
    if (!failed) {
      failed = true;
      for (auto& world : worlds)
        world.note("warning", std::string("Terrace went on without an event: ") + error.what());
    }
  }
}

ObjectId Runtime::State::add(std::string_view name, profile::ObjectKind kind, std::uint64_t address, Bytes size) {
  const auto extent = extent_of(parts.chunk_rule, parts.granule, address, size);
  ObjectMemory memory;
  memory.address = extent.address;
  auto& object = memory.object;
  object.id = static_cast<ObjectId>(objects.size());
  object.name = unique_name(name);
  object.kind = kind;
  object.size = extent.size;
  object.chunk_size = extent.chunk_size;
  object.first_chunk = next_chunk;
  object.chunks = static_cast<std::uint32_t>(extent.chunks);
  next_chunk += object.chunks;
  objects.push_back(object);
  addresses.push_back(extent.address);
  for (auto& world : worlds) world.object_added(memory, objects);
  if (parts.reach) parts.reach->object_added(object, memory.address);
  map_chunks(memory);
  if (parts.events)
    parts.events->object_added({name, kind, address, size, object.id, object.first_chunk, object.chunks});
  return object.id;
}

Runtime::Runtime(RuntimeParts parts) : state_(std::make_unique<State>(std::move(parts))) {}
Runtime::~Runtime() = default;

ObjectId Runtime::add_object(std::string_view name, profile::ObjectKind kind, const void* address,
                             Bytes size) noexcept {
  auto id = ~ObjectId{0};
  state_->enter([&] { id = state_->add(name, kind, reinterpret_cast<std::uint64_t>(address), size); });
  return id;
}

void Runtime::grow_object(ObjectId id, Bytes size) noexcept {
  state_->enter([&] {
    auto& state = *state_;
    if (id >= state.objects.size() || size <= state.objects[id].size) return;
    // Chunk numbers of an object are contiguous, so what is new becomes a further object of the same name.
    const auto object = state.objects[id];
    state.add(object.name.substr(0, object.name.find('#')), object.kind, state.addresses[id] + object.size.value,
              size - object.size);
  });
}

void Runtime::remove_object(ObjectId id) noexcept {
  state_->enter([&] {
    auto& state = *state_;
    if (id >= state.objects.size() || !state.objects[id].live) return;
    state.flush();
    if (state.parts.reach) state.parts.reach->object_removed(id);
    state.objects[id].live = false;
    if (state.parts.map && state.objects[id].kind != profile::ObjectKind::named)
      state.parts.map->remove_range(state.addresses[id], state.objects[id].size.value);
    for (auto& world : state.worlds) world.object_removed(state.objects[id]);
    if (state.parts.events) state.parts.events->object_removed(id);
  });
}

std::string Runtime::hinted(const backend::ProgramHint& hint) noexcept {
  std::string complaint;
  state_->enter([&] {
    try {
      for (auto& world : state_->worlds) world.hinted(hint);
      if (state_->parts.events) state_->parts.events->hinted(hint);
    } catch (const Error& error) {
      complaint = error.what();
    }
  });
  return complaint;
}

void Runtime::loop_begin(std::string_view name) noexcept {
  state_->enter([&] {
    if (state_->parts.phases.source == PhaseSource::markers) state_->begin_loop(name);
  });
}

void Runtime::loop_end() noexcept {
  state_->enter([&] {
    if (state_->parts.phases.source == PhaseSource::markers) state_->end_loop();
  });
}

void Runtime::phase(std::string_view name) noexcept {
  state_->enter([&] {
    if (state_->parts.phases.source == PhaseSource::markers) state_->marker(name);
  });
}

void Runtime::function_entered(std::uint64_t function, std::uint64_t) noexcept {
  state_->enter([&] {
    if (state_->parts.phases.source == PhaseSource::functions) state_->named_function(function);
    if (state_->parts.phases.source == PhaseSource::automatic) state_->any_function(function);
  });
}

void Runtime::progressed(std::uint32_t thread, std::uint64_t accesses, bool in_stride) noexcept {
  state_->enter([&] {
    if (!state_->tracker.in_phase()) return;
    for (auto& world : state_->worlds) world.progressed(state_->tracker, thread, accesses, in_stride);
  });
}

void Runtime::several_threads() noexcept {
  state_->enter([&] {
    if (state_->following.samples()) state_->follow_everything();
  });
}

bool Runtime::flushing() const noexcept { return state_->flushing; }

Seconds Runtime::now() noexcept {
  Seconds result;
  state_->enter([&] {
    state_->flush();
    result = state_->worlds.front().now();
  });
  return result;
}

const char* Runtime::where(const void* address) noexcept {
  const char* name = nullptr;
  state_->enter([&] {
    const auto wanted = reinterpret_cast<std::uint64_t>(address);
    for (std::size_t id = state_->objects.size(); id-- > 0;) {
      const auto& object = state_->objects[id];
      const auto offset = wanted - state_->addresses[id];
      if (!object.live || offset >= object.size.value) continue;
      const auto chunk = object.first_chunk + static_cast<ChunkId>(offset / object.chunk_size.value);
      name = state_->worlds.front().place_name(chunk);
      return;
    }
  });
  return name;
}

void Runtime::note(std::string_view severity, std::string_view text) noexcept {
  state_->enter([&] { state_->note(severity, text); });
}

void Runtime::finish(std::string_view how) noexcept {
  state_->enter([&] {
    state_->end_loop();
    state_->flush();
    state_->note_missing_functions();
    state_->write_reach();
    for (auto& world : state_->worlds) world.finish(how, state_->objects);
    if (state_->parts.events) state_->parts.events->finished(how);
    state_->finished = true;
  });
}

}  // namespace terrace::runtime
