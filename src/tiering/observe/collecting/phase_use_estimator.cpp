// SPDX-License-Identifier: Apache-2.0
// Estimates how phases use objects, for the two collectors that observe pages only. See phase_use_estimator.hpp.
#include "observe/collecting/phase_use_estimator.hpp"

#include <algorithm>

namespace terrace::observe {

void PhaseUseEstimator::PhaseUse::add(const PhaseUse& other) {
  time += other.time;
  for (const auto& [object, count] : other.bytes) bytes[object] += count;
  for (const auto& [object, count] : other.squares) squares[object] += count;
}

PhaseUseEstimator::PhaseUseEstimator(const machine::Machine& machine, InitiatorId initiator, double cores,
                                     const memory::ChunkTable& chunks, double window)
    : view_(machine, initiator),
      chunks_(chunks),
      window_(window),
      streamed_(machine::prefetched_exposure(machine.initiators()[initiator], cores)),
      line_(static_cast<double>(machine.parts().line.value)) {}

void PhaseUseEstimator::add(std::span<const Overlap> overlaps, const ByObject& used) {
  double all = 0;
  for (const auto& part : overlaps) all += part.time;
  for (const auto& part : overlaps) {
    auto& of_phase = uses_[part.phase];
    of_phase.time += part.time;
    for (const auto& [object, bytes] : used) {
      const auto share = bytes * part.time / all;
      of_phase.bytes[object] += share;
      of_phase.squares[object] += share * share;
    }
  }
}

const PhaseUseEstimator::PhaseUse* PhaseUseEstimator::find(std::string_view phase) const {
  const auto found = uses_.find(phase);
  return found != uses_.end() && found->second.time > 0 ? &found->second : nullptr;
}

PhaseUseEstimator::PhaseUse PhaseUseEstimator::total_use() const {
  PhaseUse all;
  for (const auto& [phase, used] : uses_) all.add(used);
  return all;
}

// Returns the live chunks by object. Called once for all phases of an iteration.
PhaseUseEstimator::LiveByObject PhaseUseEstimator::live() const {
  LiveByObject live;
  for (ChunkId id = 0; id < chunks_.size(); ++id) {
    const auto& chunk = chunks_[id];
    if (!chunk.live) continue;
    auto& of_object = live[chunk.object];
    of_object.size += chunk.size;
    of_object.chunks.push_back(id);
  }
  return live;
}

void PhaseUseEstimator::write(double time, const LiveByObject& live, Phase& phase) const {
  phase.core = {time};
  phase.samples = time / window_;
  const auto* const found = find(phase.name);
  const auto used = found ? *found : total_use();
  if (used.time <= 0 || time <= 0) return;
  const auto lines_of_byte = time / used.time / line_;
  double stalled = 0;
  for (const auto& [object, bytes] : used.bytes) {
    const auto its = live.find(object);
    if (its == live.end() || bytes <= 0) continue;
    for (const auto id : its->second.chunks) {
      const auto& chunk = chunks_[id];
      const auto share = chunk.size / its->second.size;
      Cell cell{id, bytes * lines_of_byte * share, 0, 0};
      cell.streamed_lines = cell.read_lines;
      cell.exposure = cell.read_lines * streamed_;
      cell.line_squares = used.squares.at(object) * lines_of_byte * lines_of_byte * share * share;
      stalled += cell.exposure * view_.path(view_.place_of(chunk)).latency.value;
      phase.cells.push_back(cell);
    }
  }
  std::ranges::sort(phase.cells, {}, &Cell::chunk);
  // A phase cannot be stalled for longer than it takes.
  const auto scale = stalled > time ? time / stalled : 1;
  for (auto& cell : phase.cells) {
    cell.exposure *= scale;
    cell.streamed_exposure = cell.exposure;
    cell.samples = cell.exposure * view_.path(view_.place_of(chunks_[cell.chunk])).latency.value / window_;
  }
  phase.core = {std::max(0.0, time - stalled * scale)};  // the product may round to more than the time
  phase.samples_with_access = stalled * scale / window_;
}

}  // namespace terrace::observe
