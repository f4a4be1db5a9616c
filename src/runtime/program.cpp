#include "runtime/program.hpp"

#include <algorithm>
#include <utility>

#include "observe/objects/address_map.hpp"
#include "profile/records.hpp"
#include "runtime/reach.hpp"

namespace terrace::runtime {

Program::Program(RuntimeParts parts) : parts_(std::move(parts)), following_(parts_.follow_every) {
  for (auto& one : parts_.configurations) configurations_.emplace_back(std::move(one), parts_.domain, objects_);
}

std::string Program::unique_name(std::string_view name) {
  const auto count = ++names_[std::string(name)];
  return count == 1 ? std::string(name) : std::string(name) + "#" + std::to_string(count);
}

void Program::map_chunks(const ObjectMemory& memory) {
  if (!parts_.map) return;
  const auto& object = memory.object;
  observe::Location location;
  if (!parts_.map->find(memory.address, location)) parts_.map->add_range(memory.address, object.size.value);
  for (std::uint32_t i = 0; i < object.chunks; ++i) {
    const auto offset = i * object.chunk_size.value;
    parts_.map->set_chunk(memory.address + offset, std::min(object.chunk_size.value, object.size.value - offset),
                          object.first_chunk + i);
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
  for (auto& configuration : configurations_) configuration.object_added(memory);
  if (parts_.reach) parts_.reach->object_added(object, memory.address);
  map_chunks(memory);
  if (parts_.events)
    parts_.events->object_added({name, kind, address, size, object.id, object.first_chunk, object.chunks});
  return object.id;
}

void Program::grow_object(ObjectId id, Bytes size) {
  if (id >= objects_.size() || size <= objects_[id].size) return;
  // Chunk numbers of an object are contiguous, so what is new becomes a further object of the same name.
  const auto object = objects_[id];
  add_object(object.name.substr(0, object.name.find('#')), object.kind, addresses_[id] + object.size.value,
             size - object.size);
}

void Program::remove_object(ObjectId id) {
  if (!is_live(id)) return;
  if (parts_.reach) parts_.reach->object_removed(id);
  objects_[id].live = false;
  if (parts_.map && objects_[id].kind != observe::ObjectKind::named)
    parts_.map->remove_range(addresses_[id], objects_[id].size.value);
  for (auto& configuration : configurations_) configuration.object_removed(objects_[id]);
  if (parts_.events) parts_.events->object_removed(id);
}

void Program::hinted(const observe::ProgramHint& hint) {
  for (auto& configuration : configurations_) configuration.hinted(hint);
  if (parts_.events) parts_.events->hinted(hint);
}

void Program::loop_begun(std::string_view name) {
  tracker_.begin_loop(name);
  following_.begin_loop();
  for (auto& configuration : configurations_) configuration.loop_begin(tracker_);
  if (parts_.reach) parts_.reach->set_in_loop(true);
  if (parts_.events) parts_.events->loop_begun(name);
}

void Program::loop_ended() {
  if (!in_loop()) return;
  if (tracker_.in_phase()) end_phase();
  for (auto& configuration : configurations_) configuration.loop_end(tracker_, following_.iterations());
  const bool paused = !following_.now();
  following_.end_loop();
  if (paused) follow(true);
  if (parts_.reach) parts_.reach->set_in_loop(false);
  write_reach();
  tracker_.end_loop();
  if (parts_.events) parts_.events->loop_ended();
}

void Program::phase_begun(std::string_view name) {
  if (!in_loop()) return;
  if (tracker_.in_phase()) end_phase();
  const bool begins_iteration = tracker_.marker(name) == PhaseTracker::Step::iteration;
  const bool paused = !following_.now();
  phase_followed_ = following_.phase(tracker_, begins_iteration);
  for (auto& configuration : configurations_) {
    configuration.phase_begin(tracker_, begins_iteration, phase_followed_);
    if (following_.samples() && phase_followed_) configuration.left_out().begin_measuring();
  }
  if (begins_iteration || (paused && phase_followed_))
    follow(phase_followed_ && std::any_of(configurations_.begin(), configurations_.end(),
                                          [](const Configuration& one) { return one.listens(); }));
  if (parts_.events) parts_.events->phase_begun(name);
}

void Program::end_phase() {
  for (auto& configuration : configurations_) {
    if (following_.samples() && phase_followed_) configuration.left_out().keep_measured(tracker_);
    if (!following_.now()) configuration.left_out().count(tracker_);
    configuration.phase_end(tracker_, phase_followed_);
  }
}

void Program::progressed(std::uint32_t thread, std::uint64_t accesses, bool in_stride) {
  if (!tracker_.in_phase()) return;
  for (auto& configuration : configurations_) configuration.progressed(tracker_, thread, accesses, in_stride);
}

void Program::follow(bool wanted) {
  if (parts_.follow) parts_.follow(wanted);
  if (parts_.reach) parts_.reach->set_followed(wanted);
}

// What was left out of this phase counts as the whole of the last one of its like: nobody knows how much it was.
void Program::follow_everything() {
  const bool paused = !following_.now();
  following_.everything();
  if (!paused) return;
  for (auto& configuration : configurations_) configuration.left_out().count(tracker_);
  follow(true);
}

void Program::several_threads() {
  if (following_.samples()) follow_everything();
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
  if (parts_.events) parts_.events->noted(severity, text);
}

void Program::write_reach() {
  const auto reach = parts_.reach ? parts_.reach->so_far() : std::nullopt;
  if (!reach) return;
  for (auto& configuration : configurations_) configuration.reached(*reach);
  if (!parts_.events) return;
  BlobWriter record;
  profile::encode(record, *reach);
  parts_.events->reached(record.bytes());
}

void Program::finish(std::string_view how) {
  write_reach();
  for (auto& configuration : configurations_) configuration.finish(how);
  if (parts_.events) parts_.events->finished(how);
}

}  // namespace terrace::runtime
