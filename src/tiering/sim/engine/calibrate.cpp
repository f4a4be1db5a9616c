// SPDX-License-Identifier: Apache-2.0
// Runs STREAM and a pointer chase on each place in virtual time, and derives the constants of Unimem's model from
// the counts, for the launcher. See calibrate.hpp.
#include "sim/engine/calibrate.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "observe/collecting/sampling_collector.hpp"
#include "sim/engine/synthetic_generator.hpp"
#include "sim/engine/virtual_machine.hpp"

namespace terrace::sim {
namespace {

constexpr std::uint32_t k_stream_lines = 8192;  // of each array
constexpr std::uint64_t k_hops = 16384;
constexpr double k_samples = 4096;  // in a run: the error of shares is at most 0.8 %
constexpr double k_telling_difference = 0.05;

// Sampled counters of one run.
struct SampledRun {
  double time = 0;
  double read = 0;  // lines
  double written = 0;
  double samples = 0;
  double samples_with_access = 0;
};

// Runs the kernels on one place at a time, and counts them by the sampling collector.
class CalibrationBench {
 public:
  CalibrationBench(const machine::Machine& machine, InitiatorId initiator)
      : machine_(machine),
        initiator_(initiator),
        view_(machine, initiator),
        page_(std::make_unique<memory::LedgerPage>()),
        line_(static_cast<double>(machine.parts().line.value)) {}

  [[nodiscard]] const observe::PlaceView& view() const { return view_; }

  SampledRun stream(PlaceId place, double cores) {
    return run(place, cores, [](SyntheticGenerator& program, std::span<const SyntheticArray, 3> arrays) {
      program.stream(StreamKernel::triad, arrays);
      program.stream(StreamKernel::copy, arrays.subspan(0, 2));
    });
  }
  SampledRun chase(PlaceId place, double cores) {
    return run(place, cores, [](SyntheticGenerator& program, std::span<const SyntheticArray, 3> arrays) {
      program.chase(arrays[0], k_hops);
    });
  }

  // Returns peak bandwidth by eq. 1.
  [[nodiscard]] double peak_bandwidth(const SampledRun& counted) const {
    if (counted.samples_with_access <= 0) return 0;
    return (counted.read + counted.written) * line_ /
           (counted.samples_with_access / counted.samples * counted.time);
  }
  // Returns the time on a place that eqs. 2 and 3 predict.
  [[nodiscard]] double by_bandwidth(const SampledRun& counted, PlaceId place) const {
    const auto& path = view_.path(place);
    return counted.read * line_ / path.read.value + counted.written * line_ / path.write.value;
  }
  [[nodiscard]] double by_latency(const SampledRun& counted, PlaceId place) const {
    return counted.read * view_.path(place).latency.value;
  }

 private:
  template <class Body>
  SampledRun run(PlaceId place, double cores, Body body) {
    const auto domain = machine_.place(place).domain;
    const auto bytes = static_cast<std::uint32_t>(machine_.parts().line.value * k_stream_lines);
    memory::ChunkTable chunks;
    std::array<SyntheticArray, 3> arrays;
    for (auto& array : arrays) array = {chunks.add(0, bytes, 0, domain, place), k_stream_lines, k_stream_lines};
    memory::Ledger ledger(*page_, machine::Budget(machine_.places().size()));
    // The first run finds the program's length, the second samples at the interval that follows from it.
    VirtualMachine rehearsal(machine_, initiator_, cores, chunks, ledger);
    play(rehearsal, arrays, body);
    const auto progress = rehearsal.account().core + rehearsal.account().exposed;
    observe::SamplingCollector collector(machine_, initiator_, cores, chunks, cores * progress / k_samples);
    collector.begin_iteration(0);
    collector.begin_phase("calibration");
    play(collector, arrays, body);
    collector.end_phase(rehearsal.now());
    const auto iteration = collector.take_iteration();
    const auto& phase = iteration.phases.front();
    SampledRun counted{phase.time.value, 0, 0, phase.samples, phase.samples_with_access};
    for (const auto& cell : phase.cells) {
      counted.read += cell.read_lines;
      counted.written += cell.write_lines;
    }
    return counted;
  }
  template <class Body>
  void play(observe::AccessSink& sink, const std::array<SyntheticArray, 3>& arrays, Body body) {
    SyntheticGenerator program(sink, machine_.parts().line);
    body(program, std::span<const SyntheticArray, 3>(arrays));
    program.flush();
  }

  const machine::Machine& machine_;
  InitiatorId initiator_;
  observe::PlaceView view_;
  std::unique_ptr<memory::LedgerPage> page_;
  double line_;
};

// Returns a constant: the measured gain of the fastest place over this one, over the predicted gain
// (calibrate.hpp).
double constant(double measured_here, double measured_there, double predicted_here, double predicted_there) {
  const auto predicted = predicted_here - predicted_there;
  if (predicted < k_telling_difference * predicted_here) return measured_here / predicted_here;
  return (measured_here - measured_there) / predicted;
}

}  // namespace

model::Calibration measure_calibration(const machine::Machine& machine, InitiatorId initiator, double cores) {
  CalibrationBench bench(machine, initiator);
  const auto count = machine.places().size();
  const auto all_cores = std::max(cores, static_cast<double>(machine.initiators()[initiator].cores));
  model::Calibration calibration;
  calibration.places.resize(count);
  std::vector<SampledRun> streams(count), chases(count);
  for (PlaceId place = 0; place < count; ++place) {
    if (!bench.view().reaches(place)) continue;
    streams[place] = bench.stream(place, cores);
    chases[place] = bench.chase(place, cores);
    calibration.places[place].peak_bandwidth =
        bench.peak_bandwidth(all_cores == cores ? streams[place] : bench.stream(place, all_cores));
  }
  for (PlaceId place = 0; place < count; ++place) {
    const auto fastest = machine.fastest_first(machine.place(place).domain).front();
    if (!bench.view().reaches(place) || !bench.view().reaches(fastest)) continue;
    auto& constants = calibration.places[place];
    const auto& stream = streams[place];
    const auto& chase = chases[place];
    constants.cf_bandwidth = constant(stream.time, streams[fastest].time, bench.by_bandwidth(stream, place),
                                      bench.by_bandwidth(stream, fastest));
    // Each core has one miss of the chase in flight at a time, and the cores share the work.
    constants.cf_latency = constant(chase.time, chases[fastest].time, bench.by_latency(chase, place),
                                    bench.by_latency(chase, fastest));
  }
  return calibration;
}

}  // namespace terrace::sim
