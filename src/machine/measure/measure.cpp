// What is measured in which order, how much memory it takes, and what the numbers become in the machine.
#include "machine/measure/measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <map>

#include "core/error.hpp"
#include "machine/discover/system_files.hpp"
#include "machine/measure/fits.hpp"
#include "machine/measure/kernels.hpp"
#include "machine/measure/measured_rounds.hpp"
#include "machine/measure/placed_buffer.hpp"

namespace terrace::machine {
namespace {

constexpr Bytes k_mib{1u << 20};

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

const char* name_of(Pages pages) { return pages == Pages::huge ? "huge" : "small"; }

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + " %"; }

class Measurer {
 public:
  Measurer(const Discovered& found, const MeasureOptions& options, const Progress& progress)
      : found_(found),
        options_(options),
        progress_(progress),
        parts_(found.machine.parts()),
        ordinary_(SystemFiles().choice("/sys/kernel/mm/transparent_hugepage/enabled") == "always" ? Pages::huge
                                                                                                  : Pages::small) {
    measured_.repetitions = options.repetitions != 0 ? options.repetitions : options.quick ? 3 : 5;
    measured_.processor = found.processor_name;
    const auto places = parts_.places.size();
    steps_ = parts_.initiators.size() + places * (places - 1);
    for (const auto& path : parts_.paths) steps_ += foreign(path) ? 2 : 3;
  }

  MachineFile run() {
    for (std::size_t i = 0; i < parts_.initiators.size(); ++i) measure_core(i);
    for (auto& path : parts_.paths) measure_path(path);
    for (std::size_t i = 0; i < parts_.initiators.size(); ++i) set_parallelism(i);
    if (parts_.places.size() > 1) measure_copies();
    if (progress_) progress_(1, "done");
    measured_.date = now_utc();
    parts_.fingerprint = fingerprint(found_);
    parts_.description = measured_.processor + ", measured " + measured_.date;
    for (auto& domain : parts_.domains) domain.places.clear();  // their order follows from the new numbers
    return {Machine(parts_), measured_};
  }

 private:
  void step(const std::string& what) {
    if (progress_) progress_(static_cast<double>(done_) / static_cast<double>(steps_), what);
    ++done_;
  }

  void note(const std::string& text) {
    if (std::find(measured_.notes.begin(), measured_.notes.end(), text) == measured_.notes.end()) {
      measured_.notes.push_back(text);
    }
  }

  // A path out of its domain: measured too, but with fewer settings, because there are many of them.
  [[nodiscard]] bool foreign(const Path& path) const {
    return parts_.places[path.place].domain != parts_.initiators[path.initiator].domain;
  }

  // One processor for each core of an initiator.
  [[nodiscard]] std::vector<int> cores(std::size_t initiator) const {
    auto list = found_.processors.at(initiator);
    if (list.size() > parts_.initiators[initiator].cores) list.resize(parts_.initiators[initiator].cores);
    if (list.empty())
      throw Error(Code::failed, "no processor of " + parts_.initiators[initiator].name + " may be used");
    return list;
  }

  // With a single node there is nothing to ask for, and a container may forbid asking.
  [[nodiscard]] int node_of(std::size_t place) const {
    return parts_.places.size() > 1 ? parts_.places[place].numa_node : -1;
  }

  // What a call takes beside its load and its store, which are seen and counted apart.
  void measure_library(Initiator& initiator, int core, double access) const {
    for (std::size_t i = 0; i < k_library_functions; ++i) {
      const auto call = time_of_a_call(core, static_cast<LibraryFunction>(i), measured_.repetitions).median;
      initiator.library[i] = {std::max(call - 2 * access, k_least_call)};
    }
  }

  void measure_core(std::size_t index) {
    auto& initiator = parts_.initiators[index];
    step(initiator.name + ": core, libm and caches");
    const auto core = cores(index).front();
    const auto access = time_of_an_access(core, k_core_rounds * measured_.repetitions).median;
    accesses_[static_cast<InitiatorId>(index)] = access;
    initiator.instruction_time = {access / k_instructions_of_a_triad};
    measure_library(initiator, core, access);
    double inner = 0;
    for (auto& cache : initiator.caches) {
      // Well beyond the cache inside of it, well within its own size.
      const auto size = static_cast<double>(cache.size.value);
      // (and not far beyond: others may fill much of a cache that is shared).
      const double data = inner == 0 ? size / 2 : std::min({size / 2, std::sqrt(inner * size), 4 * inner});
      const PlacedBuffer buffer({static_cast<std::uint64_t>(std::max(data, 4096.0))}, Pages::huge, -1);
      const ChaseCycle cycle(buffer.as<ChaseLine>(), k_seed);
      cache.latency = {time_of_a_hop(core, cycle, k_cache_hops, measured_.repetitions).median};
      const auto hop = least_time_of_parallel_hops(core, cycle, k_cache_hops, measured_.repetitions);
      if (inner != 0) cache.overlapped = {std::max(hop - access, 0.0)};
      inner = size;
    }
    measure_tlb(initiator, core);
  }

  // Page walks of hits in the caches beyond the first: chases over one line a page, whose lines fill no more than
  // half of the last cache.
  void measure_tlb(Initiator& initiator, int core) {
    if (initiator.caches.size() < 2) return;
    if (ordinary_ == Pages::huge)
      return note("programs get huge pages here, whose TLB misses lie beyond the caches: no TLB is described");
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto lines = initiator.caches.back().size.value / 2 / sizeof(ChaseLine);
    const Bytes most{std::min(available_memory(-1).value / 2, k_most_translated.value)};
    const PlacedBuffer buffer({std::min(lines, most.value / page) * page}, Pages::small, -1);
    const auto costs = costs_of_pages(core, buffer.as<ChaseLine>(), page / sizeof(ChaseLine),
                                      k_core_rounds * measured_.repetitions);
    const auto reach = tlb_reach(costs, k_least_walk);
    if (reach.entries == 0) return note("chases over many pages cost no more than over few: no TLB is described");
    initiator.tlb = {reach.entries, k_usual_tlb_ways, Bytes{page}, Seconds{reach.walk}};
  }

  void measure_path(Path& path) {
    const auto& initiator = parts_.initiators[path.initiator];
    const auto& place = parts_.places[path.place];
    const auto name = initiator.name + " -> " + place.name;
    try {
      step(name + ": bandwidth");
      measure_bandwidth(path);
      step(name + ": latency, " + name_of(ordinary_) + " pages");
      measure_latency(path, ordinary_);
      if (foreign(path)) return;
      const auto other = ordinary_ == Pages::huge ? Pages::small : Pages::huge;
      step(name + ": latency, " + name_of(other) + " pages");
      measure_latency(path, other);
    } catch (const Error& error) {
      const bool nearest = parts_.domains[initiator.domain].initiator == path.initiator &&
                           found_.machine.domains()[initiator.domain].places.front() == path.place;
      if (nearest) throw Error(Code::failed, name + " cannot be measured: " + error.what());
      note(name + " is not measured but as discovered: " + error.what());
    }
  }

  // Bytes for one of `parts` buffers on a place: what is wanted, or what fits twice over.
  [[nodiscard]] Bytes fitting(Bytes wanted, std::uint64_t parts, std::size_t initiator, std::size_t place) const {
    const auto available = available_memory(node_of(place));
    const Bytes most{std::min(available.value, parts_.places[place].capacity.value) / 2 / parts};
    const auto size = std::min(wanted, most);
    if (size < found_.last_level.at(initiator) || size < 8 * k_mib) {
      throw Error(Code::no_memory,
                  "only " + format(available) + " is free, too little to measure memory and not caches");
    }
    return size;
  }

  void verify(const PlacedBuffer& buffer, std::size_t place) {
    const auto node = node_of(place);
    if (node < 0) return;
    const auto share = buffer.share_on(node);
    if (!share) {
      note("the kernel does not tell where pages lie; they were asked for on the place's node");
    } else if (*share < 0.99) {
      throw Error(Code::failed,
                  "only " + percent(*share) + " of the pages came to lie on NUMA node " + std::to_string(node));
    }
  }

  void measure_bandwidth(Path& path) {
    const auto last = found_.last_level.at(path.initiator);
    // STREAM's rule is four times the caches; quick runs make do with twice.
    const auto wanted = options_.quick ? std::max(32 * k_mib, 2 * last) : std::max(64 * k_mib, 4 * last);
    const auto size = fitting(wanted, 3, path.initiator, path.place);
    const PlacedBuffer buffer(3 * size, Pages::huge, node_of(path.place));
    verify(buffer, path.place);
    const auto all = cores(path.initiator);
    std::map<std::string, double> best;  // of each kernel, bytes a second
    for (const auto threads : thread_counts(all.size(), options_.quick || foreign(path))) {
      const auto rates = bandwidths(std::span(all).first(threads), buffer.as<double>(), measured_.repetitions);
      for (const auto& [kernel, rate] : rates) {
        measured_.bandwidths.push_back(
            {path.initiator, path.place, static_cast<std::uint32_t>(threads), kernel, rate});
        best[kernel] = std::max(best[kernel], rate.median);
      }
    }
    const auto apart = reads_and_writes(best);
    path.read = {apart.read};
    path.write = {apart.write};
    path.bandwidth_source = Source::measured;
    streamed_[{path.initiator, path.place}] =
        time_of_a_streamed_element(all.front(), buffer.as<double>(), measured_.repetitions).median;
  }

  [[nodiscard]] static std::vector<std::size_t> thread_counts(std::size_t most, bool few) {
    std::vector<std::size_t> counts{1};
    if (!few) {
      for (std::size_t n = 2; n < most; n *= 2) counts.push_back(n);
    }
    if (most > 1) counts.push_back(most);
    return counts;
  }

  void measure_latency(Path& path, Pages pages) {
    const auto last = found_.last_level.at(path.initiator);
    const auto wanted = options_.quick ? std::max(64 * k_mib, 4 * last) : std::max(256 * k_mib, 8 * last);
    const PlacedBuffer buffer(fitting(wanted, 1, path.initiator, path.place), pages, node_of(path.place));
    verify(buffer, path.place);
    const ChaseCycle cycle(buffer.as<ChaseLine>(), k_seed);
    const auto core = cores(path.initiator).front();
    const std::size_t hops = options_.quick ? 300'000 : 1'000'000;
    const auto latency = time_of_a_hop(core, cycle, hops, measured_.repetitions);
    measured_.latencies.push_back({path.initiator, path.place, name_of(pages), latency});
    if (pages == ordinary_) {
      path.latency = {latency.median};
      path.latency_source = Source::measured;
      parallel_[{path.initiator, path.place}] =
          latency.median / least_time_of_parallel_hops(core, cycle, hops, measured_.repetitions);
      if (!foreign(path)) measure_loaded_latency(path, cycle, hops);
      const auto memory = buffer.as<std::uint64_t>();
      const auto far = memory.first(std::bit_floor(memory.size()));
      overlaps_[{path.initiator, path.place}] = {
          reorder_window(core, far, measured_.repetitions), store_buffer(core, far, measured_.repetitions),
          streams_followed(costs_of_streams(core, memory, measured_.repetitions))};
    }
    if (pages == Pages::small) return;
    if (const auto share = buffer.share_huge(); !share || *share < 0.9) {
      note("huge pages were asked for and " + (share ? percent(*share) : std::string("an unknown share")) +
           " of the memory has them; latencies hold TLB misses");
    }
  }

  // Beside the initiator's other cores, which read the place faster and faster.
  void measure_loaded_latency(const Path& path, const ChaseCycle& cycle, std::size_t hops) {
    const auto processors = cores(path.initiator);
    if (processors.size() < 2) return note("latencies beside other cores that read need a second core");
    const auto last = found_.last_level.at(path.initiator);
    const PlacedBuffer buffer(fitting(std::max(64 * k_mib, 4 * last), 2, path.initiator, path.place), Pages::huge,
                              node_of(path.place));
    verify(buffer, path.place);
    const auto memory = buffer.as<double>();
    std::fill(memory.begin(), memory.end(), 1.0);
    for (const auto& [load, latency] : loaded_hops(processors, cycle, hops, memory, measured_.repetitions))
      measured_.latencies.push_back({path.initiator, path.place, name_of(ordinary_), latency, load});
  }

  // Little's law at the initiator's nearest place that was measured (virtual-time contract): the lines that one
  // core's stream has in flight, and the misses that independent chases have.
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
      // Three lines for eight elements; what the core needs for their three accesses each is counted apart.
      const auto elements = line / sizeof(double) / 3;
      const auto core_time = std::min(3 * accesses_.at(key.first), k_most_core * streamed_.at(key));
      initiator.prefetch_mlp = std::max(1.0, path->latency.value / (elements * (streamed_.at(key) - core_time)));
      initiator.miss_registers = static_cast<std::uint32_t>(std::lround(initiator.mlp));
      const auto overlap = overlaps_.at(key);
      if (overlap.window > 0) initiator.window = std::min(overlap.window, k_most_window);
      if (overlap.store_buffer > 0) initiator.store_buffer = std::min(overlap.store_buffer, k_most_store_buffer);
      if (overlap.streams > 0) initiator.streams = std::min(overlap.streams, k_most_streams);
      if (!initiator.caches.empty()) measure_share(initiator, index, path->latency);
      for (const auto& cache : initiator.caches) {
        if (cache.latency < 0.7 * path->latency) continue;
        note("a hit in " + cache.name +
             " took nearly as long as memory: others may fill that cache, or use the machine");
      }
      return;
    }
  }

  // Others fill the last cache, too (other programs, other guests of the machine): what a program that uses it
  // hard keeps of it. The largest data of which chases side by side take nearer to a hit's time than to memory's,
  // by their ratios. (One chase alone comes back to a line so late that others have long filled its place: it
  // keeps little.)
  void measure_share(Initiator& initiator, std::size_t index, Seconds memory) {
    const auto core = cores(index).front();
    auto& cache = initiator.caches.back();
    const auto inner = initiator.caches.size() > 1 ? initiator.caches[initiator.caches.size() - 2].size : Bytes{};
    const double hit = cache.overlapped.value + accesses_.at(static_cast<InitiatorId>(index));
    const double nearer = std::sqrt(hit * memory.value / initiator.mlp);
    const auto least = std::max(2 * static_cast<double>(inner.value), 65536.0);
    for (double data = static_cast<double>(cache.size.value) * 0.75; data > least; data /= k_share_step) {
      const PlacedBuffer buffer({static_cast<std::uint64_t>(data)}, ordinary_, -1);
      const ChaseCycle cycle(buffer.as<ChaseLine>(), k_seed);
      if (least_time_of_parallel_hops(core, cycle, k_cache_hops, measured_.repetitions) > nearer) continue;
      const auto kept = static_cast<std::uint64_t>(data / 0.75);
      if (kept >= cache.size.value) return;
      const auto set = parts_.line.value * cache.ways;
      note("of " + cache.name + ", " + format(cache.size) + ", chases keep " + format(Bytes{kept}) +
           ": others fill the rest");
      cache.size = {std::max<std::uint64_t>(kept / set, 1) * set};
      return;
    }
  }

  // One thread, as the mover has: from each place to each other, by a core near to the target.
  void measure_copies() {
    for (std::size_t from = 0; from < parts_.places.size(); ++from) {
      for (std::size_t to = 0; to < parts_.places.size(); ++to) {
        if (from != to) measure_copy(from, to);
      }
    }
  }

  void measure_copy(std::size_t from, std::size_t to) {
    const auto initiator = parts_.domains[parts_.places[to].domain].initiator;
    const auto name = "copy " + parts_.places[from].name + " -> " + parts_.places[to].name;
    step(name);
    try {
      const auto wanted = std::max(64 * k_mib, 2 * found_.last_level.at(initiator));
      const PlacedBuffer source(fitting(wanted, 1, initiator, from), Pages::huge, node_of(from));
      const PlacedBuffer target(fitting(wanted, 1, initiator, to), Pages::huge, node_of(to));
      verify(source, from);
      verify(target, to);
      const auto rate = copy_bandwidth(cores(initiator).front(), source.as<double>(), target.as<double>(),
                                       measured_.repetitions);
      measured_.bandwidths.push_back(
          {initiator, static_cast<PlaceId>(to), 1, "memcpy-from-" + parts_.places[from].name, rate});
      parts_.copies.push_back({static_cast<PlaceId>(from), static_cast<PlaceId>(to), {rate.median}});
    } catch (const Error& error) {
      note(name + " is not measured: " + error.what());
    }
  }

  static constexpr std::uint64_t k_seed = 20170817;  // any; the same one makes runs comparable
  static constexpr std::size_t k_cache_hops = 1'000'000;
  static constexpr double k_least_call = 1e-10;  // seconds
  // For each of its three accesses an element: compiled, it has seven.
  static constexpr double k_instructions_of_a_triad = 7.0 / 3;
  static constexpr double k_most_core = 0.9;  // of a streamed element's time
  static constexpr double k_share_step = 1.25;
  static constexpr double k_least_walk = 0.2e-9;  // seconds: less may be a disturbance
  static constexpr Bytes k_most_translated{256u << 20};
  static constexpr std::uint32_t k_usual_tlb_ways = 8;  // what measures the reach does not tell them
  static constexpr std::size_t k_core_rounds = 5;       // they are short, and a disturbance is long

  const Discovered& found_;
  MeasureOptions options_;
  const Progress& progress_;
  MachineParts parts_;
  Measurement measured_;
  Pages ordinary_;                          // that programs get which ask for none
  std::map<InitiatorId, double> accesses_;  // seconds of one in the first cache, with what goes with it
  std::map<std::pair<InitiatorId, PlaceId>, double> streamed_;  // seconds an element
  struct Overlap {
    std::uint32_t window, store_buffer, streams;  // 0: not found
  };
  std::map<std::pair<InitiatorId, PlaceId>, Overlap> overlaps_;
  std::map<std::pair<InitiatorId, PlaceId>, double> parallel_;
  std::size_t steps_ = 1;
  std::size_t done_ = 0;
};

}  // namespace

MachineFile measure_machine(const Discovered& discovered, const MeasureOptions& options,
                            const Progress& progress) {
  return Measurer(discovered, options, progress).run();
}

}  // namespace terrace::machine
