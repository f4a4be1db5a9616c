// SPDX-License-Identifier: Apache-2.0
// Measures one round of each figure (a time or rate of the machine) for `terrace machine measure`, in windows
// (timed repetitions). A window takes about a millisecond, less than a time slice, so that other programs leave
// many windows undisturbed.
#include "machine/measure/measured_rounds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>

#include "core/rounding.hpp"
#include "machine/measure/windows.hpp"

namespace terrace::machine {
namespace {

constexpr std::uint64_t k_seed = 20170817;  // arbitrary, but fixed, so that runs are comparable
constexpr std::size_t k_line = 8;           // elements of eight bytes in a cache line
constexpr std::size_t k_hop_lead_in = 4;    // warm-up windows, which load page tables into the caches

// Options of a figure that the first core alone measures.
struct SingleCoreFigure {
  std::size_t lead_in = 1;  // warm-up windows
  Section prepare{};        // runs before each window, outside its time
};
// Measures a figure on the first core; a window consists of `units` of work. Companion threads keep other programs
// off the probe's other cores: these would use the memory, the outer caches and, in a virtual machine, possibly
// the same core. Returns the seconds of a unit.

Spread measure_on_first_core(const Probe& probe, const std::string& name, double units, const Section& section,
                             const SingleCoreFigure& how = {}) {
  return probe.figures.sample(name, [&] {
    const WindowPlan plan{probe.cores.first(1), probe.cores.subspan(1), how.lead_in, probe.windows};
    auto windows = run_windows(plan, section, how.prepare);
    for (auto& window : windows) window.value /= units;
    return windows;
  });
}

// Returns a thread's share of an array, in whole cache lines except for the last.
template <class T>
std::span<T> slice_of_thread(std::span<T> all, std::size_t thread, std::size_t threads) {
  const std::size_t lines = all.size() / k_line;
  const std::size_t begin = lines * thread / threads * k_line;
  const std::size_t end = thread + 1 == threads ? all.size() : lines * (thread + 1) / threads * k_line;
  return all.subspan(begin, end - begin);
}

// Returns the piece of an array that a window uses, cyclically.
template <class T>
std::span<T> piece_of_window(std::span<T> all, std::size_t piece, std::size_t window) {
  return all.subspan(window % (all.size() / piece) * piece, piece);
}

// Returns a section that reads the buffer into the caches before a window.
Section warming_section(const ChaseBuffer& chase) {
  // Several passes: one pass may leave data in the inner cache only, or not displace what streamed through the
  // outer.
  constexpr int k_passes = 3;
  return [&chase](std::size_t, std::size_t) {
    for (int pass = 0; pass < k_passes; ++pass) {
      volatile double sink = read_all(chase.memory.as<const double>());
      (void)sink;
    }
  };
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return {median, values.back() - values.front(), values.front()};
}

ChaseBuffer::ChaseBuffer(Bytes size, Pages pages, int numa_node)
    : memory(size, pages, numa_node), cycle(memory.as<ChaseLine>(), k_seed), single(cycle.start(1, 64)) {
  constexpr std::size_t k_max_chains = 32;
  for (std::size_t k = 0; k < k_max_chains; ++k) several.push_back(cycle.start(k, k_max_chains));
  // Lines are linked in chase order, so the caches hold the end of the cycle: the single chase begins at the other
  // end, between the first two of the concurrent ones.
  const PlacedBuffer other({size.value / 2}, pages, numa_node);
  std::ranges::fill(other.as<double>(), 1.0);
}

Spread measure_cycle(const Probe& probe, const std::string& name) {
  constexpr std::size_t k_adds = 64 * 16'000;
  std::uint64_t sum = 1;
  return measure_on_first_core(probe, name, k_adds,
                               [&](std::size_t, std::size_t) { sum = add_dependent(sum, k_adds); });
}

Spread measure_access(const Probe& probe, const std::string& name) {
  constexpr std::size_t k_elements = 512;  // three arrays in 12 KiB: fit into any first-level cache
  constexpr std::size_t k_passes = 1500;
  std::vector<double> a(k_elements, 1.0);
  std::vector<double> b(k_elements, 2.0);
  std::vector<double> c(k_elements, 3.0);
  return measure_on_first_core(probe, name, 3.0 * k_elements * k_passes, [&](std::size_t, std::size_t) {
    for (std::size_t pass = 0; pass < k_passes; ++pass) scalar_triad(a, b, c, 0.5);
  });
}

Spread measure_call(const Probe& probe, const std::string& name, LibraryFunction function) {
  constexpr std::size_t k_passes = 20;
  return measure_on_first_core(probe, name, k_library_arguments * k_passes,
                               [&](std::size_t, std::size_t) { call_library(function, k_passes); });
}

Spread measure_streamed_element(const Probe& probe, const std::string& name, std::span<double> memory) {
  const auto n = memory.size() / 3;
  const auto piece = std::min<std::size_t>(n, std::size_t{1} << 17);
  const auto section = [&](std::size_t, std::size_t window) {
    scalar_triad(piece_of_window(memory.first(n), piece, window),
                 piece_of_window(memory.subspan(n, n), piece, window),
                 piece_of_window(memory.subspan(2 * n, n), piece, window), 0.5);
  };
  constexpr std::size_t k_lead_in = 8;
  return measure_on_first_core(probe, name, static_cast<double>(piece), section, {.lead_in = k_lead_in});
}

Spread measure_hop(const Probe& probe, const std::string& name, ChaseBuffer& chased, std::size_t hops,
                   bool cached) {
  return measure_on_first_core(
      probe, name, static_cast<double>(hops),
      [&](std::size_t, std::size_t) { chased.single = chase(chased.single, hops); },
      {.lead_in = k_hop_lead_in, .prepare = cached ? warming_section(chased) : Section{}});
}

MinTime measure_min_parallel_hop(const Probe& probe, const std::string& name, ChaseBuffer& chased,
                                 std::size_t hops, bool cached) {
  MinTime minimum;
  for (const std::size_t chains : {4u, 8u, 16u, 32u}) {
    const auto each = std::max<std::size_t>(1, hops / chains);
    const auto figure = name + "." + std::to_string(chains);
    // Evenly spaced: a chase close behind another one would find its lines in the first cache.
    for (std::size_t k = 0; cached && k < chains; ++k) chased.several[k] = chased.cycle.start(k, chains);
    const auto hop = measure_on_first_core(
        probe, figure, static_cast<double>(each * chains),
        [&](std::size_t, std::size_t) { chase_many(std::span(chased.several).first(chains), each); },
        {.lead_in = k_hop_lead_in, .prepare = cached ? warming_section(chased) : Section{}});
    if (chains == 4 || hop.best < minimum.seconds.best) minimum = {hop, figure};
  }
  return minimum;
}

std::vector<PagesCost> measure_page_costs(const Probe& probe, const std::string& name, std::span<ChaseLine> memory,
                                          std::size_t page_lines) {
  constexpr std::size_t k_hops = 60'000;
  const auto max_pages = memory.size() / page_lines;
  // The minimum over several numbers of chases; the first window loads the lines into the caches.
  const auto hop = [&](const std::string& figure, const ChaseCycle& cycle, std::size_t hops) {
    double minimum = 0;
    for (const std::size_t chains : {8u, 16u}) {
      std::vector<ChaseLine*> at(chains);
      for (std::size_t k = 0; k < chains; ++k) at[k] = cycle.start(k, chains);
      const auto each = hops / chains;
      const auto time =
          measure_on_first_core(probe, figure + "." + std::to_string(chains), static_cast<double>(each * chains),
                                [&](std::size_t, std::size_t) { chase_many(at, each); });
      if (minimum == 0 || time.best < minimum) minimum = time.best;
    }
    return minimum;
  };
  std::vector<PagesCost> costs;
  for (std::size_t step = 8; 4 * step <= max_pages; step *= 2) {
    for (std::size_t pages = 4 * step; pages < 8 * step && pages <= max_pages; pages += step) {
      const auto hops = std::max(k_hops, 2 * pages);
      const auto figure = name + "." + std::to_string(pages);
      const auto apart =
          hop(figure + ".apart",
              ChaseCycle::one_line_per_page(memory.first(pages * page_lines), page_lines, k_seed), hops);
      const auto together = hop(figure + ".together", ChaseCycle(memory.first(pages), k_seed), hops);
      costs.push_back({static_cast<std::uint32_t>(pages), apart - together});
    }
  }
  return costs;
}

std::vector<std::pair<double, Spread>> measure_loaded_hops(const Probe& probe, const std::string& name,
                                                           ChaseBuffer& chased, std::span<const double> memory) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t k_hops = 8'000;
  constexpr std::size_t k_max_hops = 1000 * k_hops;          // limit in case the other cores never begin
  constexpr std::size_t k_block = 2048;                      // elements read between pauses
  constexpr std::array<double, 5> k_pauses{15, 7, 3, 1, 0};  // per block, in multiples of its read time
  std::vector<std::pair<double, Spread>> measured;
  const auto threads = probe.cores.size();
  if (threads < 2) return measured;
  constexpr std::size_t k_lead_in = 1;
  std::vector<std::size_t> from(threads, 0);
  for (std::size_t pace = 0; pace < k_pauses.size(); ++pace) {
    const double pause = k_pauses[pace];
    const auto count = probe.windows + k_lead_in;
    std::atomic<std::size_t> chased_windows{0};
    std::vector<std::atomic<std::size_t>> blocks(count);
    std::vector<std::size_t> hops(count);
    const auto read_until_chased = [&](std::size_t thread, std::size_t window) {
      const auto mine = slice_of_thread(memory, thread - 1, threads - 1);
      while (chased_windows.load(std::memory_order_acquire) <= window) {
        const auto begun = Clock::now();
        if (from[thread] + k_block > mine.size()) from[thread] = 0;
        volatile double sink = read_all(mine.subspan(from[thread], k_block));
        (void)sink;
        from[thread] += k_block;
        ++blocks[window];
        const auto until = Clock::now() + (Clock::now() - begun) * pause;
        while (Clock::now() < until && chased_windows.load(std::memory_order_acquire) <= window) {
        }
      }
    };
    const auto figure = name + "." + std::to_string(static_cast<int>(pause));
    std::vector<Window> rates;  // of this round, in blocks per second
    const auto hop = probe.figures.sample(figure, [&] {
      auto windows = run_windows(
          {probe.cores, {}, k_lead_in, probe.windows, probe.max_hop}, [&](std::size_t thread, std::size_t w) {
            if (thread > 0) return read_until_chased(thread, w);
            // On a busy machine the other cores may begin late: discard windows without load.
            do {
              chased.single = chase(chased.single, k_hops);
              hops[w] += k_hops;
            } while (blocks[w].load(std::memory_order_relaxed) == 0 && hops[w] < k_max_hops);
            chased_windows.store(w + 1, std::memory_order_release);
          });
      for (std::size_t w = 0; w < windows.size(); ++w) {
        const auto read = static_cast<double>(blocks[w + k_lead_in] * k_block * sizeof(double));
        rates.push_back({read / windows[w].value, windows[w].clean});
        windows[w].value /= static_cast<double>(hops[w + k_lead_in]);
      }
      return windows;
    });
    const auto rate = probe.figures.sample(figure + ".read", [&] { return rates; });
    measured.emplace_back(rate.median, hop);
  }
  return measured;
}

std::uint32_t reorder_window(const Probe& probe, const std::string& name, std::span<const std::uint64_t> memory) {
  constexpr std::size_t k_reads = 5'000;
  constexpr std::size_t k_cached = 1023;  // elements: fit into any first-level cache
  constexpr double k_step = 1.25;
  std::vector<std::uint64_t> near(k_cached, 1);
  std::uint64_t seed = 1;
  const auto time = [&](const std::string& figure, std::span<const std::uint64_t> of, std::size_t between) {
    return measure_on_first_core(probe, name + "." + std::to_string(between) + figure, k_reads,
                                 [&](std::size_t, std::size_t) {
                                   read_random_spaced(of, std::span(near).first(between), k_reads, seed);
                                 })
        .best;
  };
  std::vector<MissDistanceCost> costs;
  for (double triples = 3; 3 * triples < k_cached; triples *= k_step) {
    const auto count = 3 * static_cast<std::size_t>(triples);
    costs.push_back({static_cast<double>(count) + 1,
                     time(".far", memory, count) - time(".near", std::span(near).first(512), count)});
  }
  return min_miss_distance(costs);
}

std::uint32_t store_buffer(const Probe& probe, const std::string& name, std::span<std::uint64_t> memory) {
  constexpr std::size_t k_writes = 4'000;
  constexpr std::size_t k_cached = 1024;     // elements: fit into any first-level cache
  constexpr std::size_t k_max_stores = 512;  // stores
  constexpr double k_step = 1.2;
  std::vector<std::uint64_t> near(k_cached, 1);
  std::uint64_t seed = 1;
  const auto time = [&](const std::string& figure, std::span<std::uint64_t> far, std::size_t between) {
    return measure_on_first_core(
               probe, name + "." + std::to_string(between) + figure, k_writes,
               [&](std::size_t, std::size_t) { write_random_spaced(far, near, between, k_writes, seed); })
        .best;
  };
  std::vector<MissDistanceCost> costs;
  for (double between = 5; between < k_max_stores; between *= k_step) {
    const auto count = static_cast<std::size_t>(between);
    costs.push_back({static_cast<double>(count) + 1, time(".far", memory, count) - time(".near", near, count)});
  }
  return min_miss_distance(costs);
}

std::vector<StreamsCost> measure_stream_costs(const Probe& probe, const std::string& name,
                                              std::span<const std::uint64_t> memory) {
  constexpr std::size_t k_reads = 20'000;    // of a window
  constexpr std::size_t k_warmup_lines = 2;  // lines of each stream, read before the windows
  std::vector<StreamsCost> costs;
  static std::uint64_t seed = 1;  // continues, so that no round reads the data of an earlier one
  std::uint64_t sum = 0;
  for (std::size_t streams = 4; streams <= k_max_streams; streams *= 2) {
    const auto lead_in = 1 + streams * k_line * k_warmup_lines / k_reads;
    // Streams continue from window to window, so that their lines are cold. They begin at random positions, so
    // that they map to different cache sets.
    const auto piece = memory.size() / streams;
    const auto needed = 2 * (probe.windows + lead_in + 1) * k_reads / streams + k_line;
    if (2 * needed > piece) break;
    std::vector<std::uint32_t> at(streams);
    for (std::size_t s = 0; s < streams; ++s) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      at[s] = static_cast<std::uint32_t>(s * piece + ((seed >> 32) * (piece - needed) >> 32));
    }
    const auto line = measure_on_first_core(
        probe, name + "." + std::to_string(streams), static_cast<double>(k_reads) / k_line,
        [&](std::size_t, std::size_t) { sum += read_streams(memory, at, k_reads, seed); }, {.lead_in = lead_in});
    costs.push_back({static_cast<std::uint32_t>(streams), line.best});
  }
  volatile std::uint64_t sink = sum;  // keeps the reads alive
  (void)sink;
  return costs;
}

std::vector<std::pair<std::string, Spread>> bandwidths(const Probe& probe, const std::string& name,
                                                       std::size_t threads, std::span<double> memory,
                                                       Bytes caches) {
  constexpr std::size_t k_max_piece = 1u << 18;  // elements of an array per thread and window
  constexpr std::size_t k_min_windows = 8;
  const auto n = memory.size() / 3;
  const auto a = memory.first(n);
  const auto b = memory.subspan(n, n);
  const auto c = memory.subspan(2 * n, n);
  const auto piece = align_down(std::min(k_max_piece, n / threads / 2), k_line);
  constexpr double k_scalar = 3;
  std::vector<double> sums(8 * threads);  // a cache line for each thread's sum
  struct Kernel {
    const char* name;
    std::size_t arrays;  // that the kernel reads or writes
    std::function<void(std::size_t, std::size_t)> run;
  };
  const auto of = [&](std::span<double> array, std::size_t thread, std::size_t window) {
    return piece_of_window(slice_of_thread(array, thread, threads), piece, window);
  };
  const std::vector<Kernel> kernels = {
      {"write", 3,
       [&](std::size_t t, std::size_t w) {
         write_all(of(a, t, w), 1);
         write_all(of(b, t, w), 2);
         write_all(of(c, t, w), 0);
       }},
      {"copy", 2, [&](std::size_t t, std::size_t w) { stream_copy(of(c, t, w), of(a, t, w)); }},
      {"scale", 2, [&](std::size_t t, std::size_t w) { stream_scale(of(b, t, w), of(c, t, w), k_scalar); }},
      {"add", 3, [&](std::size_t t, std::size_t w) { stream_add(of(c, t, w), of(a, t, w), of(b, t, w)); }},
      {"triad", 3,
       [&](std::size_t t, std::size_t w) { stream_triad(of(a, t, w), of(b, t, w), of(c, t, w), k_scalar); }},
      {"read", 3,
       [&](std::size_t t, std::size_t w) {
         sums[8 * t] = read_all(of(a, t, w)) + read_all(of(b, t, w)) + read_all(of(c, t, w));
       }},
  };
  std::vector<std::pair<std::string, Spread>> rates;
  for (const auto& kernel : kernels) {
    const auto bytes = kernel.arrays * piece * threads * sizeof(double);
    const auto figure = name + "." + kernel.name + "." + std::to_string(threads);
    probe.figures.sample(figure, [&] {
      return run_windows({probe.cores.first(threads), probe.cores.subspan(threads), 1 + caches.value / bytes,
                          std::max(probe.windows, k_min_windows), probe.max_hop},
                         kernel.run);
    });
    rates.emplace_back(kernel.name, rates_of_windows(probe.figures.windows(figure), static_cast<double>(bytes)));
  }
  return rates;
}

Spread copy_bandwidth(const Probe& probe, const std::string& name, std::span<const double> from,
                      std::span<double> to) {
  constexpr std::size_t k_lead_in = 8;
  const auto n = std::min(from.size(), to.size());
  const auto piece = std::min<std::size_t>(n, std::size_t{1} << 19);
  measure_on_first_core(probe, name, 1,
                        [&](std::size_t, std::size_t window) {
                          const auto target = piece_of_window(to.first(n), piece, window);
                          std::memcpy(target.data(), piece_of_window(from.first(n), piece, window).data(),
                                      target.size_bytes());
                        },
                        {.lead_in = k_lead_in});
  return rates_of_windows(probe.figures.windows(name), static_cast<double>(piece * sizeof(double)));
}

}  // namespace terrace::machine
