// SPDX-License-Identifier: Apache-2.0
// Sums the exact counts of each phase by chunk, for exact profiles and `--collector exact`. See
// exact_collector.hpp.
#include "observe/collecting/exact_collector.hpp"

#include <algorithm>

namespace terrace::observe {

ExactCollector::ExactCollector(const machine::Machine& machine, InitiatorId initiator, double cores,
                               const memory::ChunkTable& chunks)
    : cost_(machine, initiator, cores),
      view_(machine, initiator),
      chunks_(chunks),
      line_(static_cast<double>(machine.parts().line.value)),
      on_place_(machine.places().size()) {}

void ExactCollector::count(const Quantum& quantum, const Tally& tally) {
  threads_.add_thread(quantum.thread);
  core_ += cost_.core_time(quantum).value;
  core_ += cost_.exposure(tally.unowned()) * view_.path(view_.unowned()).latency.value;
  const auto add = [&](PlaceId place, const ChunkTraffic& traffic) {
    on_place_[place].read += traffic.read();
    on_place_[place].written += traffic.written;
  };
  add(view_.unowned(), tally.unowned());
  unowned_.read += tally.unowned().read();
  unowned_.written += tally.unowned().written;
  for (const auto& [chunk, traffic] : tally.chunks()) {
    traffic_.at(chunk) += traffic;
    add(view_.place_of(chunks_[chunk]), traffic);
  }
}

void ExactCollector::finish(Phase& phase) {
  phase.core = {core_};
  threads_.on_phase_end(phase.name);
  for (std::size_t i = 0; i < on_place_.size(); ++i) {
    const auto& path = view_.path(static_cast<PlaceId>(i));
    const Seconds busy{static_cast<double>(on_place_[i].read) * line_ / path.read.value +
                       static_cast<double>(on_place_[i].written) * line_ / path.write.value};
    phase.bandwidth_time = std::max(phase.bandwidth_time, busy);
  }
  phase.unowned_lines = static_cast<double>(unowned_.read + unowned_.written);
  for (const auto& [chunk, traffic] : traffic_.entries()) {
    phase.cells.push_back({chunk, static_cast<double>(traffic.read()), static_cast<double>(traffic.written),
                           cost_.exposure(traffic), 0, 0, static_cast<double>(traffic.prefetched),
                           cost_.streamed_exposure(traffic)});
  }
  core_ = 0;
  unowned_ = {};
  traffic_.clear();
  std::fill(on_place_.begin(), on_place_.end(), Lines{});
}

void ExactCollector::complete_iteration(Iteration& iteration) { threads_.divide(iteration); }

}  // namespace terrace::observe
