// SPDX-License-Identifier: Apache-2.0
// Distributes program events to the configurations and to the recorder of the run. See program.hpp.
#include "runtime/program.hpp"

#include <algorithm>
#include <utility>

#include "observe/objects/address_map.hpp"
#include "profile/records.hpp"
#include "runtime/coverage.hpp"

namespace terrace::runtime {

Program::Program(RuntimeParts parts) : parts_(std::move(parts)), sampling_(parts_.sample_every) {
  for (auto& one : parts_.configurations) configurations_.emplace_back(std::move(one), parts_.domain, objects_);
}

std::string Program::unique_name(std::string_view name) {
  const auto count = ++names_[std::string(name)];
  return count == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(count);
}

void Program::map_chunks(const ObjectMemory& memory, std::string_view name) {
  representatives_.resize(objects_.size());
  if (!parts_.map) return;
  const auto& object = memory.object;
  observe::Location location;
  const bool is_known = parts_.map->find(memory.address, location);
  const auto canonical =
      is_known ? memory.address + location.delta : parts_.map->add_range(memory.address, object.size.value);
  const auto representative = address_reuse_.on_alloc(name, canonical, object.size);
  representatives_.back() = representative;
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    parts_.map->set_chunk(memory.address + offset, std::min(object.chunk_size.value, object.size.value - offset),
                          object.first_chunk + i, canonical - representative);
  }
}

ObjectId Program::add_object(std::string_view name, observe::ObjectKind kind, std::uint64_t address, Bytes size) {
  const auto extent = extent_of(parts_.chunk_rule, parts_.granule, address, size);
  ObjectMemory memory;
  memory.address = extent.address;
  auto& object = memory.object;
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
  for (auto& configuration : configurations_) configuration.on_object_added(memory);
  if (parts_.coverage) parts_.coverage->on_object_added(object, memory.address);
  map_chunks(memory, name);
  if (parts_.events)
    parts_.events->on_object_added({name, kind, address, size, object.id, object.first_chunk, object.chunks});
  return object.id;
}

void Program::grow_object(ObjectId id, Bytes size) {
  if (id >= objects_.size() || size <= objects_[id].size) return;
  // Chunk numbers of an object are contiguous, so the new part becomes a further object of the same name.
  const auto object = objects_[id];
  add_object(object.name.substr(0, object.name.find('#')), object.kind, addresses_[id] + object.size.value,
             size - object.size);
}

void Program::remove_object(ObjectId id) {
  if (!is_live(id)) return;
  if (parts_.coverage) parts_.coverage->on_object_removed(id);
  objects_[id].live = false;
  if (parts_.map && objects_[id].kind != observe::ObjectKind::named)
    parts_.map->remove_range(addresses_[id], objects_[id].size.value);
  const std::string_view name = objects_[id].name;
  address_reuse_.on_free(name.substr(0, name.rfind('#')), representatives_[id], objects_[id].size);
  for (auto& configuration : configurations_) configuration.on_object_removed(objects_[id]);
  if (parts_.events) parts_.events->on_object_removed(id);
}

void Program::on_hint(const observe::ProgramHint& hint) {
  for (auto& configuration : configurations_) configuration.on_hint(hint);
  if (parts_.events) parts_.events->on_hint(hint);
}

void Program::on_loop_begin(const observe::NewLoop& loop) {
  tracker_.begin_loop(loop.name);
  sampling_.begin_loop();
  for (auto& configuration : configurations_) configuration.loop_begin(loop);
  if (parts_.coverage) parts_.coverage->set_in_loop(true);
  if (parts_.events) parts_.events->on_loop_begin(loop);
}

void Program::on_loop_end() {
  if (!in_loop()) return;
  if (tracker_.in_phase()) end_phase();
  for (auto& configuration : configurations_) configuration.loop_end(tracker_, sampling_.num_observed());
  const bool paused = !sampling_.is_observing();
  sampling_.end_loop();
  if (paused || !parts_.observes_outside) set_observed(parts_.observes_outside);
  if (parts_.coverage) parts_.coverage->set_in_loop(false);
  write_coverage();
  tracker_.end_loop();
  if (parts_.events) parts_.events->on_loop_end();
}

void Program::on_phase_begin(std::string_view name, bool is_late) {
  if (!in_loop()) return;
  if (tracker_.in_phase()) end_phase(is_late);
  phase_is_late_ = is_late;
  const bool begins_iteration = tracker_.on_marker(name) == PhaseTracker::Step::iteration;
  const bool paused = !sampling_.is_observing();
  phase_observed_ = sampling_.on_phase(tracker_, begins_iteration);
  for (auto& configuration : configurations_) {
    configuration.phase_begin(tracker_, begins_iteration, phase_observed_);
    if (sampling_.is_sampling() && phase_observed_) configuration.skipped_estimate().begin_observed_phase();
  }
  if (begins_iteration || (paused && phase_observed_)) set_observed(phase_observed_ && any_wants_accesses());
  if (parts_.events) parts_.events->on_phase_begin(name);
}

void Program::expect_iteration() {
  if (in_loop() && !sampling_.is_observing() && sampling_.is_observed(tracker_.iteration() + 1))
    set_observed(any_wants_accesses());
}

bool Program::any_wants_accesses() const {
  return std::any_of(configurations_.begin(), configurations_.end(),
                     [](const Configuration& one) { return one.wants_accesses(); });
}

void Program::end_phase(bool is_late) {
  for (auto& configuration : configurations_) {
    if (sampling_.is_sampling() && phase_observed_) configuration.skipped_estimate().end_observed_phase(tracker_);
    if (!sampling_.is_observing()) configuration.skipped_estimate().add_skipped_phase(tracker_);
    configuration.phase_end(tracker_, phase_observed_, is_late || phase_is_late_);
  }
}

void Program::on_progress(std::uint32_t thread, std::uint64_t accesses, bool in_stride) {
  if (!tracker_.in_phase()) return;
  for (auto& configuration : configurations_) configuration.on_progress(tracker_, thread, accesses, in_stride);
}

void Program::set_observed(bool wanted) {
  if (parts_.observe) parts_.observe(wanted);
  if (parts_.coverage) parts_.coverage->set_observed(wanted);
}

// Counts the unobserved part of the current phase as a whole instance of it, because its size is unknown.
void Program::stop_sampling() {
  const bool paused = !sampling_.is_observing();
  sampling_.stop_sampling();
  if (!paused) return;
  for (auto& configuration : configurations_) configuration.skipped_estimate().add_skipped_phase(tracker_);
  set_observed(true);
}

void Program::on_multithreaded() {
  if (sampling_.is_sampling()) stop_sampling();
}

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
  for (auto& configuration : configurations_) configuration.note(severity, text);
  if (parts_.events) parts_.events->on_note(severity, text);
}

void Program::on_loop_candidates(const profile::LoopsRecord& loops) {
  for (auto& configuration : configurations_) configuration.write_loops(loops);
  if (!parts_.events) return;
  BlobWriter record;
  profile::encode(record, loops);
  parts_.events->on_loop_candidates(record.bytes());
}

void Program::write_coverage() {
  const auto coverage = parts_.coverage ? parts_.coverage->so_far() : std::nullopt;
  if (!coverage) return;
  for (auto& configuration : configurations_) configuration.write_coverage(*coverage);
  if (!parts_.events) return;
  BlobWriter record;
  profile::encode(record, *coverage);
  parts_.events->on_coverage(record.bytes());
}

void Program::finish(std::string_view how) {
  write_coverage();
  for (auto& configuration : configurations_) configuration.finish(how);
  if (parts_.events) parts_.events->on_finish(how);
}

}  // namespace terrace::runtime
