// SPDX-License-Identifier: Apache-2.0
// Checks a measured machine against physical laws, before `terrace machine measure` writes its file. See
// physics.hpp.
#include "machine/measure/physics.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace terrace::machine {
namespace {

constexpr double k_tolerance = 1.05;
constexpr double k_max_write_over_read = 2;
constexpr double k_min_cycle = 0.1e-9, k_max_cycle = 2e-9;  // seconds
constexpr double k_min_cycles = 0.1, k_max_cycles = 2;      // of an instruction
constexpr double k_max_frequency_ratio = 2;                 // idle and boosted states lie within it

class LawChecker {
 public:
  LawChecker(const MachineParts& parts, const Measurement& measured) : parts_(parts), measured_(measured) {}

  std::vector<std::string> broken() {
    for (std::size_t i = 0; i < parts_.initiators.size(); ++i) {
      check_core(static_cast<InitiatorId>(i));
      check_order(static_cast<InitiatorId>(i));
    }
    for (const auto& path : parts_.paths) check_rates(path);
    check_threads();
    return std::move(broken_);
  }

 private:
  // Compares the times of a cycle and of an instruction with those of real processors.
  void check_core(InitiatorId id) {
    const auto& initiator = parts_.initiators[id];
    const auto row = std::ranges::find_if(measured_.times, [id](const MeasuredTime& time) {
      return time.initiator == id && time.figure == "cycle";
    });
    if (row == measured_.times.end()) return;
    const double cycle = row->seconds.best;
    if (cycle < k_min_cycle || cycle > k_max_cycle)
      broken_.push_back(initiator.name + ": a dependent addition took " + format(Seconds{cycle}) +
                        "; a cycle takes 0.1 to 2 ns");
    const double ratio = cycle * initiator.frequency_hz;
    if (initiator.frequency_hz > 0 && (ratio > k_max_frequency_ratio || ratio < 1 / k_max_frequency_ratio))
      broken_.push_back(initiator.name + ": a dependent addition took " + format(Seconds{cycle}) +
                        ", not a cycle of the stated frequency");
    const double cycles = initiator.instruction_time.value / cycle;
    if (cycles < k_min_cycles || cycles > k_max_cycles)
      broken_.push_back(initiator.name + ": an instruction took " + format(initiator.instruction_time) +
                        " where a cycle takes " + format(Seconds{cycle}) + "; it takes 0.1 to 2 cycles");
  }

  // Checks that outer caches, and memory, are slower than inner caches.
  void check_order(InitiatorId id) {
    const auto& initiator = parts_.initiators[id];
    const Cache* inner = nullptr;
    for (const auto& cache : initiator.caches) {
      if (inner && cache.latency.value * k_tolerance < inner->latency.value)
        broken_.push_back(initiator.name + ": a hit in " + cache.name + " took " + format(cache.latency) +
                          ", one in " + inner->name + " inside of it " + format(inner->latency));
      if (inner && cache.overlapped.value * k_tolerance < inner->overlapped.value)
        broken_.push_back(initiator.name + ": hits side by side in " + cache.name + " took " +
                          format(cache.overlapped) + ", those in " + inner->name + " inside of it " +
                          format(inner->overlapped));
      inner = &cache;
    }
    if (!inner) return;
    for (const auto& path : parts_.paths) {
      if (path.initiator != id || path.latency_source != Source::measured) continue;
      const auto& place = parts_.places[path.place].name;
      if (path.latency.value * k_tolerance < inner->latency.value)
        broken_.push_back(initiator.name + ": " + place + " took " + format(path.latency) + ", a hit in " +
                          inner->name + " " + format(inner->latency));
      const Seconds hop{path.latency.value / initiator.mlp};
      if (hop.value * k_tolerance < inner->overlapped.value)
        broken_.push_back(initiator.name + ": misses side by side to " + place + " took " + format(hop) +
                          ", hits in " + inner->name + " " + format(inner->overlapped));
    }
  }

  // Rates of a path exceed those alone if reads and writes overlap, so compare the pure reads and writes.
  void check_rates(const Path& path) {
    if (path.bandwidth_source != Source::measured) return;
    const auto of = parts_.initiators[path.initiator].name + ": ";
    const auto& place = parts_.places[path.place].name;
    if (!(path.read.value > 0 && path.write.value > 0))
      broken_.push_back(of + "STREAM's kernels on " + place + " contradict its pure reads and writes");
    const auto best = [&](const char* kernel) {
      double rate = 0;
      for (const auto& row : measured_.bandwidths)
        if (row.initiator == path.initiator && row.place == path.place && row.kernel == kernel)
          rate = std::max(rate, row.bytes_per_second.best);
      return rate;
    };
    const double read = best("read"), write = best("write");
    if (write > k_max_write_over_read * k_tolerance * read)
      broken_.push_back(of + place + " was written at " + format(BytesPerSecond{write}) + " and read at " +
                        format(BytesPerSecond{read}) + "; no memory writes more than twice as fast as it reads");
  }

  // Checks that all threads together read no slower than one.
  void check_threads() {
    std::map<std::pair<InitiatorId, PlaceId>, std::pair<double, double>> reads;  // one thread, most threads
    std::map<std::pair<InitiatorId, PlaceId>, std::uint32_t> max_threads;
    for (const auto& row : measured_.bandwidths) {
      if (row.kernel != "read") continue;
      const std::pair key(row.initiator, row.place);
      if (row.threads == 1) reads[key].first = row.bytes_per_second.best;
      if (row.threads < max_threads[key]) continue;
      max_threads[key] = row.threads;
      reads[key].second = row.bytes_per_second.best;
    }
    for (const auto& [key, rates] : reads)
      if (rates.second * k_tolerance < rates.first)
        broken_.push_back(parts_.initiators[key.first].name + ": " + std::to_string(max_threads[key]) +
                          " threads read " + parts_.places[key.second].name + " at " +
                          format(BytesPerSecond{rates.second}) + ", one thread at " +
                          format(BytesPerSecond{rates.first}));
  }

  const MachineParts& parts_;
  const Measurement& measured_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> broken_laws(const MachineParts& parts, const Measurement& measured) {
  return LawChecker(parts, measured).broken();
}

}  // namespace terrace::machine
