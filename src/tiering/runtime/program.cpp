// SPDX-License-Identifier: Apache-2.0
// Tracks a program's objects, phases and observation on behalf of Runtime, and passes each event to the
// configurations and other listeners. See program.hpp.
#include "runtime/program.hpp"

#include <algorithm>
#include <utility>

#include "observe/objects/address_map.hpp"
#include "profile/records.hpp"

namespace terrace::runtime {

using observe::ProgramEvents;

Program::Program(RuntimeParts parts) : parts_(std::move(parts)), sampling_(parts_.sample_every) {
  for (auto& one : parts_.configurations)
    listeners_.push_back(
        &configurations_.emplace_back(std::move(one), parts_.domain, objects_, tracker_, sampling_));
  listeners_.insert(listeners_.end(), parts_.listeners.begin(), parts_.listeners.end());
}

template <class... Parameters, class... Arguments>
void Program::notify(void (ProgramEvents::*event)(Parameters...), const Arguments&... arguments) {
  for (auto* const listener : listeners_) (listener->*event)(arguments...);
}

template <class Record>
void Program::notify_encoded(void (ProgramEvents::*event)(std::span<const std::byte>), const Record& record) {
  BlobWriter encoded;
  profile::encode(encoded, record);
  notify(event, encoded.bytes());
}

std::string Program::unique_name(std::string_view name) {
  const auto count = ++names_[std::string(name)];
  return count == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(count);
}

// Enters the object's chunks into the address map, so that accesses are attributed to them.
void Program::map_chunks(const observe::Object& object, std::uint64_t address, std::string_view name) {
  representatives_.resize(objects_.size());
  if (!parts_.map) return;
  observe::Location location;
  const bool is_known = parts_.map->find(address, location);
  const auto canonical = is_known ? address + location.delta : parts_.map->add_range(address, object.size.value);
  const auto representative = address_reuse_.on_alloc(name, canonical, object.size);
  representatives_.back() = representative;
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    parts_.map->set_chunk(address + offset, std::min(object.chunk_size.value, object.size.value - offset),
                          object.first_chunk + i, canonical - representative);
  }
}

ObjectId Program::add_object(std::string_view name, observe::ObjectKind kind, std::uint64_t address, Bytes size,
                             bool is_at_home) {
  const auto extent = extent_of(parts_.chunk_rule, parts_.granule, address, size);
  observe::Object object;
  object.id = static_cast<ObjectId>(objects_.size());
  object.name = unique_name(name);
  object.kind = kind;
  object.size = extent.size;
  object.chunk_size = extent.chunk_size;
  object.first_chunk = next_chunk_;
  object.chunks = static_cast<std::uint32_t>(extent.chunks);
  next_chunk_ += object.chunks;
  objects_.push_back(object);
  addresses_.push_back(extent.address);
  notify(&ProgramEvents::on_object_added,
         observe::NewObject{name, kind, address, size, object.id, object.first_chunk, object.chunks, &object,
                            extent.address, is_at_home});
  map_chunks(object, extent.address, name);
  return object.id;
}

void Program::grow_object(ObjectId id, Bytes size) {
  if (id >= objects_.size() || size <= objects_[id].size) return;
  // Chunk numbers of an object are contiguous, so the new part becomes a further object of the same name.
  const auto object = objects_[id];
  add_object(object.name.substr(0, object.name.find('#')), object.kind, addresses_[id] + object.size.value,
             size - object.size);
}

bool Program::remove_object(ObjectId id) {
  if (!is_live(id)) return false;
  const bool was_at_home = configurations_.front().is_at_home(id);
  objects_[id].live = false;
  if (parts_.map && objects_[id].kind != observe::ObjectKind::named)
    parts_.map->remove_range(addresses_[id], objects_[id].size.value);
  const std::string_view name = objects_[id].name;
  address_reuse_.on_free(name.substr(0, name.rfind('#')), representatives_[id], objects_[id].size);
  notify(&ProgramEvents::on_object_removed, id);
  return was_at_home;
}

void Program::on_hint(const observe::ProgramHint& hint) { notify(&ProgramEvents::on_hint, hint); }

void Program::on_loop_begin(const observe::NewLoop& loop) {
  tracker_.begin_loop(loop.name);
  sampling_.begin_loop();
  notify(&ProgramEvents::on_loop_begin, loop);
}

void Program::on_loop_end() {
  if (!in_loop()) return;
  if (tracker_.in_phase()) notify(&ProgramEvents::on_phase_end, phase_is_late_);
  notify(&ProgramEvents::on_loop_ending);
  const bool paused = !sampling_.is_observing();
  sampling_.end_loop();
  if (paused || !parts_.observes_outside) set_observed(parts_.observes_outside);
  report_coverage();
  tracker_.end_loop();
  notify(&ProgramEvents::on_loop_end);
}

// Ends the current phase and begins another; switches the observation of accesses with sampled iterations.
void Program::on_phase_begin(std::string_view name, bool is_late) {
  if (!in_loop()) return;
  if (tracker_.in_phase()) notify(&ProgramEvents::on_phase_end, is_late || phase_is_late_);
  phase_is_late_ = is_late;
  tracker_.on_marker(name);
  const bool paused = !sampling_.is_observing();
  const bool observed = sampling_.on_phase(tracker_);
  notify(&ProgramEvents::on_phase_begin, name);
  if (tracker_.begins_iteration() || (paused && observed)) set_observed(observed && any_wants_accesses());
}

void Program::expect_iteration() {
  if (in_loop() && !sampling_.is_observing() && sampling_.is_observed(tracker_.iteration() + 1))
    set_observed(any_wants_accesses());
}

bool Program::any_wants_accesses() const {
  return std::any_of(configurations_.begin(), configurations_.end(),
                     [](const Configuration& one) { return one.wants_accesses(); });
}

void Program::on_progress(std::uint32_t thread, std::uint64_t accesses, bool in_stride) {
  if (!tracker_.in_phase()) return;
  for (auto& configuration : configurations_) configuration.on_progress(thread, accesses, in_stride);
}

void Program::set_observed(bool wanted) {
  if (parts_.observe) parts_.observe(wanted);
}

// Counts the unobserved part of the current phase as a whole instance of it, because its size is unknown.
void Program::stop_sampling() {
  const bool paused = !sampling_.is_observing();
  sampling_.stop_sampling();
  if (!paused) return;
  for (auto& configuration : configurations_) configuration.add_skipped_phase();
  set_observed(true);
}

void Program::on_multithreaded() {
  if (sampling_.is_sampling()) stop_sampling();
}

// Implements Runtime::where(): searches the latest object first.
const char* Program::where(std::uint64_t address) const {
  for (std::size_t id = objects_.size(); id-- > 0;) {
    const auto& object = objects_[id];
    const auto offset = address - addresses_[id];
    if (!object.live || offset >= object.size.value) continue;
    return configurations_.front().place_name(object.first_chunk +
                                              static_cast<ChunkId>(offset / object.chunk_size.value));
  }
  return nullptr;
}

void Program::note(std::string_view severity, std::string_view text) {
  notify(&ProgramEvents::on_note, severity, text);
}

void Program::on_loop_candidates(const profile::LoopsRecord& loops) {
  notify_encoded(&ProgramEvents::on_loop_candidates, loops);
}

void Program::on_mpi_statistics(const profile::MpiRecord& mpi) {
  notify_encoded(&ProgramEvents::on_mpi_statistics, mpi);
}

void Program::report_coverage() {
  if (const auto coverage = parts_.coverage ? parts_.coverage() : std::nullopt)
    notify_encoded(&ProgramEvents::on_coverage, *coverage);
}

void Program::finish(std::string_view how) {
  report_coverage();
  notify(&ProgramEvents::on_finish, how);
}

}  // namespace terrace::runtime
