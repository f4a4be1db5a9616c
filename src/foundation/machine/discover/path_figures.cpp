// SPDX-License-Identifier: Apache-2.0
// Estimates bandwidth and latency of a discovered machine's paths, with the source of each. See path_figures.hpp.
#include "machine/discover/path_figures.hpp"

#include <algorithm>

#include "machine/place_kind.hpp"

namespace terrace::machine {
namespace {

// Relative distance of other domains without NUMA distances. The kernel's default is 20 to 10; firmware of
// processors with several domains states 12 to 10 (Xeon Max, EPYC).
constexpr double k_other_package = 2;
constexpr double k_same_package = 1.2;

struct Figure {  // bandwidth or latency
  double value = 0;
  Source source = Source::kind;
};

class PathEstimator {
 public:
  PathEstimator(const HwlocTopology& topology, const PathEnds& ends) : topology_(topology), ends_(ends) {
    if (ends.from == ends.nearest) return;
    const bool known = ends.distance && ends.nearest_distance && *ends.nearest_distance > 0;
    scaled_ = known ? Source::distance : Source::kind;
    far_ = known               ? std::max(1.0, *ends.distance / *ends.nearest_distance)
           : ends.same_package ? k_same_package
                               : k_other_package;
  }

  // Returns bytes per second. `exact` is the attribute of reads or writes alone; hwloc uses MiB/s.
  [[nodiscard]] Figure bandwidth(hwloc_memattr_id_t exact, BytesPerSecond standard) const {
    constexpr double k_mib = 1024.0 * 1024;
    const auto stated_by = [&](hwloc_cpuset_t from) { return stated(exact, HWLOC_MEMATTR_ID_BANDWIDTH, from); };
    if (const auto here = stated_by(ends_.from)) return {*here * k_mib, Source::firmware};
    if (ends_.from == ends_.nearest) return {standard.value, Source::kind};
    const auto there = stated_by(ends_.nearest);
    return {(there ? *there * k_mib : standard.value) / far_, scaled_};
  }

  // Returns seconds; hwloc uses nanoseconds.
  [[nodiscard]] Figure latency(Seconds standard) const {
    const auto stated_by = [&](hwloc_cpuset_t from) {
      return stated(HWLOC_MEMATTR_ID_READ_LATENCY, HWLOC_MEMATTR_ID_LATENCY, from);
    };
    if (const auto here = stated_by(ends_.from)) return {*here / 1e9, Source::firmware};
    if (ends_.from == ends_.nearest) return {standard.value, Source::kind};
    const auto there = stated_by(ends_.nearest);
    return {(there ? *there / 1e9 : standard.value) * far_, scaled_};
  }

 private:
  [[nodiscard]] std::optional<double> stated(hwloc_memattr_id_t exact, hwloc_memattr_id_t general,
                                             hwloc_cpuset_t from) const {
    if (ends_.node == nullptr) return std::nullopt;
    const auto value = topology_.attribute(exact, ends_.node, from);
    return value ? value : topology_.attribute(general, ends_.node, from);
  }

  const HwlocTopology& topology_;
  const PathEnds& ends_;
  double far_ = 1;
  Source scaled_ = Source::kind;
};

}  // namespace

Path path_figures(const HwlocTopology& topology, const PathEnds& ends) {
  const PathEstimator figures(topology, ends);
  const auto standard = defaults_of(ends.kind);
  const auto read = figures.bandwidth(HWLOC_MEMATTR_ID_READ_BANDWIDTH, standard.read);
  const auto write = figures.bandwidth(HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, standard.write);
  const auto latency = figures.latency(standard.latency);
  Path path;
  path.read = {read.value};
  path.write = {write.value};
  path.latency = {latency.value};
  // Report one source for reads and writes: the less reliable one.
  path.bandwidth_source = std::max(read.source, write.source);
  path.latency_source = latency.source;
  if (ends.distance && *ends.distance <= k_max_distance) path.distance = static_cast<int>(*ends.distance);
  return path;
}

}  // namespace terrace::machine
