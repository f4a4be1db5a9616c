// SPDX-License-Identifier: Apache-2.0
// Implements `terrace machine measure`: orders the measurements, sizes their memory, and derives the machine from
// the figures.
#include "machine/measure/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "core/error.hpp"
#include "machine/discover/system_files.hpp"
#include "machine/measure/fits.hpp"
#include "machine/measure/kernels.hpp"
#include "machine/measure/measured_rounds.hpp"
#include "machine/measure/physics.hpp"
#include "machine/measure/placed_buffer.hpp"
#include "machine/measure/round_based_measurement.hpp"

namespace terrace::machine {
namespace {

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* name_of_page_kind(Pages pages) { return pages == Pages::huge ? "huge" : "small"; }

class Measurer final : private RoundBasedMeasurement {
 public:
  Measurer(const Discovered& found, const MeasureOptions& options, const Progress& progress)
      : RoundBasedMeasurement(found, options, progress) {}

  MachineFile run() {
    for (std::size_t i = 0; i < parts_.initiators.size(); ++i) {
      measure_in_rounds(k_share_of_domain, i, [this, i] {
        measure_core(i);
        for (auto& path : parts_.paths)
          if (path.initiator == i && !is_remote(path)) measure_path(path);
        set_parallelism(i);
      });
    }
    for (auto& path : parts_.paths)
      if (is_remote(path))
        measure_in_rounds(k_share_of_path, path.initiator, [this, &path] { measure_path(path); });
    if (parts_.places.size() > 1) measure_copies();
    if (progress_) progress_(1, "done");
    measured_.date = now_utc();
    parts_.fingerprint = fingerprint(found_);
    parts_.description = measured_.processor + ", measured " + measured_.date;
    for (auto& domain : parts_.domains) domain.places.clear();  // re-derived from the measured figures
    return {Machine(parts_), measured_};
  }

 private:
  // Measures library calls without their load and store, which are observed and counted separately.
  void measure_library(std::size_t index, const Probe& probe, double access) {
    auto& initiator = parts_.initiators[index];
    for (std::size_t i = 0; i < k_library_functions; ++i) {
      const auto function = static_cast<LibraryFunction>(i);
      const auto figure = "library." + std::string(k_library[i].name);
      reported_.insert(figure);
      const auto call = record_time(index, figure, measure_call(probe, figure, function)).best;
      initiator.library[i] = {std::max(call - 2 * access, k_min_call)};
    }
  }

  // Measures one core of an initiator: cycle, access, libm calls, caches and TLB.
  void measure_core(std::size_t index) {
    auto& initiator = parts_.initiators[index];
    step(initiator.name + ": core, libm and caches");
    const auto processors = cores(index);
    const auto probe = probe_of(processors);
    reported_.insert({"cycle", "access"});
    record_time(index, "cycle", measure_cycle(probe, "cycle"));
    const auto access = record_time(index, "access", measure_access(probe, "access")).best;
    accesses_[static_cast<InitiatorId>(index)] = access;
    initiator.instruction_time = {access / k_instructions_of_a_triad};
    measure_library(index, probe, access);
    double inner = 0;
    for (auto& cache : initiator.caches) {
      // Use data well beyond the next inner cache and well within this one. Do not go far beyond the inner one,
      // because other programs may occupy much of a shared cache.
      const auto size = static_cast<double>(cache.size.value);
      const double data = inner == 0 ? size / 2 : std::min({size / 2, std::sqrt(inner * size), 4 * inner});
      auto& chase = chase_buffer(
          cache.name, [&] { return Bytes{static_cast<std::uint64_t>(std::max(data, 4096.0))}; }, Pages::huge, -1);
      reported_.insert(cache.name + ".hit");
      cache.latency = {record_time(index, cache.name + ".hit",
                                   measure_hop(probe, cache.name + ".hit", chase, k_cache_hops, true))
                           .best};
      const auto hop = record_time(
          index, cache.name + ".parallel_hit",
          measure_min_parallel_hop(probe, cache.name + ".parallel_hit", chase, k_cache_hops, true).seconds);
      if (inner != 0) cache.overlapped = {std::max(hop.best - access, 0.0)};
      inner = size;
    }
    measure_tlb(initiator, probe);
  }

  // Measures page walks of hits in the outer caches, by chases over one line per page whose lines fill at most
  // half of the last cache.
  void measure_tlb(Initiator& initiator, const Probe& probe) {
    if (initiator.caches.size() < 2) return;
    if (ordinary_ == Pages::huge)
      return note(
          "huge pages are the default here, and their TLB misses occur only beyond the caches: no TLB is "
          "modelled");
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto lines = initiator.caches.back().size.value / 2 / sizeof(ChaseLine);
    const Bytes max_size{std::min(available_memory(-1).value / 2, k_max_translated.value)};
    const auto& buffer = plain_buffer(
        "tlb", [&] { return Bytes{std::min(lines, max_size.value / page) * page}; }, Pages::small, -1);
    const auto costs = measure_page_costs(probe, "tlb", buffer.as<ChaseLine>(), page / sizeof(ChaseLine));
    const auto reach = tlb_reach(costs, k_min_walk);
    if (reach.entries == 0) return note("chases over many pages cost no more than over few: no TLB is described");
    initiator.tlb = {reach.entries, k_usual_tlb_ways, Bytes{page}, Seconds{reach.walk}};
  }

  // Measures bandwidth and latency of a path. A path that cannot be measured keeps its discovered values, unless
  // the place is the nearest.
  void measure_path(Path& path) {
    const auto& initiator = parts_.initiators[path.initiator];
    const auto& place = parts_.places[path.place];
    const auto name = initiator.name + " -> " + place.name;
    try {
      step(name + ": bandwidth");
      measure_bandwidth(path, name);
      step(name + ": latency, " + name_of_page_kind(ordinary_) + " pages");
      measure_latency(path, name, ordinary_);
      if (is_remote(path) || options_.quick) return;
      const auto other = ordinary_ == Pages::huge ? Pages::small : Pages::huge;
      step(name + ": latency, " + name_of_page_kind(other) + " pages");
      measure_latency(path, name, other);
    } catch (const Refusal&) {
      throw;
    } catch (const Error& error) {
      const bool nearest = parts_.domains[initiator.domain].initiator == path.initiator &&
                           found_.machine.domains()[initiator.domain].places.front() == path.place;
      if (nearest) throw Error(Code::failed, name + " cannot be measured: " + error.what());
      note(name + " is not measured but as discovered: " + error.what());
    }
  }

  // Measures STREAM kernels, reads and writes with several numbers of threads, and sets the path's rates.
  void measure_bandwidth(Path& path, const std::string& name) {
    const auto last = found_.last_level.at(path.initiator);
    // STREAM requires four times the caches; quick runs use twice.
    const auto requested = options_.quick ? std::max(32 * k_mib, 2 * last) : std::max(64 * k_mib, 4 * last);
    const auto& buffer = plain_buffer(
        name, [&] { return 3 * fit_size(requested, 3, path.initiator, path.place); }, Pages::huge,
        node_of(path.place));
    verify(buffer, path.place);
    const auto all = cores(path.initiator);
    const auto probe = joint_probe_of(all, path.initiator);
    std::map<std::string, double> best;  // bytes per second by kernel
    for (const auto threads : thread_counts(all.size(), options_.quick || is_remote(path))) {
      const auto rates = bandwidths(probe, name, threads, buffer.as<double>(), last);
      for (const auto& [kernel, rate] : rates) {
        measured_.bandwidths.push_back(
            {path.initiator, path.place, static_cast<std::uint32_t>(threads), kernel, rate});
        reported_.insert(name + "." + kernel + "." + std::to_string(threads));
        best[kernel] = std::max(best[kernel], rate.best);
      }
    }
    const auto apart = reads_and_writes(best);
    path.read = {apart.read};
    path.write = {apart.write};
    path.bandwidth_source = Source::measured;
    streamed_[{path.initiator, path.place}] =
        record_min_time(
            path.initiator, place_figure(path, "streamed_element"),
            {measure_streamed_element(probe, name + ".streamed", buffer.as<double>()), name + ".streamed"})
            .best;
  }

  [[nodiscard]] static std::vector<std::size_t> thread_counts(std::size_t max_threads, bool few) {
    std::vector<std::size_t> counts{1};
    if (!few) {
      for (std::size_t n = 2; n < max_threads; n *= 2) counts.push_back(n);
    }
    if (max_threads > 1) counts.push_back(max_threads);
    return counts;
  }

  [[nodiscard]] std::string place_figure(const Path& path, const char* what) const {
    return parts_.places[path.place].name + "." + what;
  }

  // Measures the latency of a pointer chase; with ordinary pages also parallel misses, loaded latency and
  // overlaps.
  void measure_latency(Path& path, const std::string& name, Pages pages) {
    const auto last = found_.last_level.at(path.initiator);
    const auto requested = options_.quick ? std::max(64 * k_mib, 4 * last) : std::max(256 * k_mib, 8 * last);
    const auto figure = name + "." + name_of_page_kind(pages);
    auto& chase = chase_buffer(
        figure, [&] { return fit_size(requested, 1, path.initiator, path.place); }, pages, node_of(path.place));
    verify(chase.memory, path.place);
    const auto all = cores(path.initiator);
    const auto probe = probe_of(all);
    if (pages == ordinary_) reported_.insert(figure);
    const auto latency = measure_hop(probe, figure, chase, k_memory_hops, false);
    measured_.latencies.push_back({path.initiator, path.place, name_of_page_kind(pages), latency});
    if (pages == ordinary_) {
      path.latency = {latency.best};
      path.latency_source = Source::measured;
      const auto hop =
          record_min_time(path.initiator, place_figure(path, "parallel_miss"),
                          measure_min_parallel_hop(probe, figure + ".parallel", chase, k_memory_hops, false));
      parallel_[{path.initiator, path.place}] = latency.best / hop.best;
      if (!is_remote(path)) measure_loaded_latency(path, figure + ".loaded", chase);
      const auto memory = chase.memory.as<std::uint64_t>();
      // Reads do not disturb the chase; writes use separate memory.
      const auto far = memory.first(std::bit_floor(memory.size()));
      const auto& written = plain_buffer(
          figure + ".written",
          [&] { return Bytes{std::bit_floor(fit_size(requested, 2, path.initiator, path.place).value)}; }, pages,
          node_of(path.place));
      const auto stored = written.as<std::uint64_t>();
      overlaps_[{path.initiator, path.place}] = {
          reorder_window(probe, figure + ".window", far),
          store_buffer(probe, figure + ".store_buffer", stored.first(std::bit_floor(stored.size()))),
          streams_followed(measure_stream_costs(probe, figure + ".streams", memory))};
    }
    if (pages == Pages::small) return;
    if (const auto share = chase.memory.share_huge(); !share || *share < 0.9) {
      note("huge pages were asked for and " + (share ? percent(*share) : std::string("an unknown share")) +
           " of the memory has them; latencies hold TLB misses");
    }
  }

  // Measures latencies while the initiator's other cores read the place at increasing rates.
  void measure_loaded_latency(const Path& path, const std::string& name, ChaseBuffer& chase) {
    const auto processors = cores(path.initiator);
    if (processors.size() < 2) return note("latencies under load need a second core");
    const auto last = found_.last_level.at(path.initiator);
    const auto& buffer = plain_buffer(
        name, [&] { return fit_size(std::max(64 * k_mib, 4 * last), 2, path.initiator, path.place); }, Pages::huge,
        node_of(path.place));
    verify(buffer, path.place);
    for (const auto& [load, latency] :
         measure_loaded_hops(joint_probe_of(processors, path.initiator), name, chase, buffer.as<double>()))
      measured_.latencies.push_back({path.initiator, path.place, name_of_page_kind(ordinary_), latency, load});
  }

  // Applies Little's law at the nearest measured place of the initiator (virtual-time contract): the lines in
  // flight of one core's stream, and the misses in flight of independent chases.
  void set_parallelism(std::size_t index) {
    auto& initiator = parts_.initiators[index];
    for (const auto place : found_.machine.domains()[initiator.domain].places) {
      const auto key = std::pair(static_cast<InitiatorId>(index), place);
      if (!parallel_.contains(key) || !streamed_.contains(key)) continue;
      const auto path = std::find_if(parts_.paths.begin(), parts_.paths.end(), [&](const Path& p) {
        return p.initiator == key.first && p.place == key.second;
      });
      const auto line = static_cast<double>(parts_.line.value);
      initiator.mlp = std::max(1.0, parallel_.at(key));
      // Three lines per eight elements. The core time of their three accesses each is counted separately.
      const auto elements = line / sizeof(double) / 3;
      const auto core_time = std::min(3 * accesses_.at(key.first), k_max_core * streamed_.at(key));
      initiator.prefetch_mlp = std::max(1.0, path->latency.value / (elements * (streamed_.at(key) - core_time)));
      initiator.miss_registers = static_cast<std::uint32_t>(std::lround(initiator.mlp));
      const auto overlap = overlaps_.at(key);
      if (overlap.window > 0) initiator.window = std::min(overlap.window, k_max_window);
      if (overlap.store_buffer > 0) initiator.store_buffer = std::min(overlap.store_buffer, k_max_store_buffer);
      if (overlap.streams > 0) initiator.streams = std::min(overlap.streams, k_max_streams);
      if (!initiator.caches.empty()) measure_share(initiator, index, path->latency);
      for (const auto& cache : initiator.caches) {
        if (cache.latency < 0.7 * path->latency) continue;
        note("a hit in " + cache.name +
             " took nearly as long as memory: others may fill that cache, or use the machine");
      }
      return;
    }
  }

  // Measures the effective size of the last cache, which other programs and other guests of the machine also fill:
  // the largest data for which concurrent chases take nearer to the time of a hit than of memory, by ratio. (A
  // single chase returns to a line so late that others have evicted it, so it retains little.)
  void measure_share(Initiator& initiator, std::size_t index, Seconds memory) {
    const auto processors = cores(index);
    const auto probe = probe_of(processors);
    auto& cache = initiator.caches.back();
    const auto inner = initiator.caches.size() > 1 ? initiator.caches[initiator.caches.size() - 2].size : Bytes{};
    const double hit = cache.overlapped.value + accesses_.at(static_cast<InitiatorId>(index));
    const double nearer = std::sqrt(hit * memory.value / initiator.mlp);
    const auto min_data = std::max(2 * static_cast<double>(inner.value), 65536.0);
    for (double data = static_cast<double>(cache.size.value) * 0.75; data > min_data; data /= k_share_step) {
      const Bytes bytes{static_cast<std::uint64_t>(data)};
      const auto figure = cache.name + ".share." + std::to_string(bytes.value);
      auto& chase = chase_buffer(
          figure, [bytes] { return bytes; }, ordinary_, -1);
      if (measure_min_parallel_hop(probe, figure, chase, k_cache_hops, true).seconds.best > nearer) continue;
      const auto effective = static_cast<std::uint64_t>(data / 0.75);
      if (effective >= cache.size.value) return;
      const auto set = parts_.line.value * cache.ways;
      note("of the " + cache.name + " of " + format(cache.size) + ", " + format(Bytes{effective}) +
           " are effective for chases: other programs fill the rest");
      cache.size = {std::max<std::uint64_t>(effective / set, 1) * set};
      return;
    }
  }

  // Measures copies from each place to each other with one thread, as the mover has, on a core near the target.
  void measure_copies() {
    for (std::size_t from = 0; from < parts_.places.size(); ++from) {
      for (std::size_t to = 0; to < parts_.places.size(); ++to) {
        if (from == to) continue;
        const auto initiator = parts_.domains[parts_.places[to].domain].initiator;
        measure_in_rounds(k_share_of_path, initiator, [=, this] { measure_copy(from, to, initiator); });
      }
    }
  }

  void measure_copy(std::size_t from, std::size_t to, InitiatorId initiator) {
    const auto name = "copy " + parts_.places[from].name + " -> " + parts_.places[to].name;
    step(name);
    try {
      const auto requested = std::max(64 * k_mib, 2 * found_.last_level.at(initiator));
      const auto& source = plain_buffer(
          "source", [&] { return fit_size(requested, 1, initiator, from); }, Pages::huge, node_of(from));
      const auto& target = plain_buffer(
          "target", [&] { return fit_size(requested, 1, initiator, to); }, Pages::huge, node_of(to));
      verify(source, from);
      verify(target, to);
      const auto processors = cores(initiator);
      reported_.insert(name);
      const auto rate = copy_bandwidth(probe_of(processors), name, source.as<double>(), target.as<double>());
      measured_.bandwidths.push_back(
          {initiator, static_cast<PlaceId>(to), 1, "memcpy-from-" + parts_.places[from].name, rate});
      parts_.copies.push_back({static_cast<PlaceId>(from), static_cast<PlaceId>(to), {rate.best}});
    } catch (const Refusal&) {
      throw;
    } catch (const Error& error) {
      note(name + " is not measured: " + error.what());
    }
  }

  static constexpr std::size_t k_cache_hops = 50'000;
  static constexpr std::size_t k_memory_hops = 8'000;
  static constexpr double k_share_of_domain = 1, k_share_of_path = 0.1;
  static constexpr double k_min_call = 1e-10;  // seconds
  // Instructions for each of the three accesses per element: the compiled loop has seven in all.
  static constexpr double k_instructions_of_a_triad = 7.0 / 3;
  static constexpr double k_max_core = 0.9;  // share of a streamed element's time
  static constexpr double k_share_step = 1.25;
  static constexpr double k_min_walk = 0.2e-9;  // seconds; less may be noise
  static constexpr Bytes k_max_translated{256u << 20};
  static constexpr std::uint32_t k_usual_tlb_ways = 8;  // the reach does not reveal associativity
};

}  // namespace

MachineFile measure_machine(const Discovered& discovered, const MeasureOptions& options,
                            const Progress& progress) {
  return Measurer(discovered, options, progress).run();
}

}  // namespace terrace::machine
