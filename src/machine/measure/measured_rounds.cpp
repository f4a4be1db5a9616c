// Rounds, medians and spreads.
#include "machine/measure/measured_rounds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "machine/measure/team.hpp"

namespace terrace::machine {
namespace {

// The values of `repetitions` rounds after one that warms up; `value` turns a round's time into what is reported.
std::vector<double> rounds(std::span<const int> processors, std::size_t repetitions,
                           const std::function<void(std::size_t thread)>& section,
                           const std::function<double(Seconds)>& value) {
  std::vector<double> values;
  run_team(
      processors, repetitions + 1, [&](std::size_t thread, std::size_t) { section(thread); },
      [&](std::size_t round, Seconds time) {
        // A clock that did not move would make a rate infinite.
        if (round > 0) values.push_back(value({std::max(time.value, 1e-9)}));
      });
  return values;
}

// Of what is compared with one another: a disturbance only adds.
double least_of(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

// The thread's share of an array, in whole cache lines but for the last.
template <class T>
std::span<T> slice(std::span<T> all, std::size_t thread, std::size_t threads) {
  constexpr std::size_t k_line = 8;  // doubles
  const std::size_t lines = all.size() / k_line;
  const std::size_t begin = lines * thread / threads * k_line;
  const std::size_t end = thread + 1 == threads ? all.size() : lines * (thread + 1) / threads * k_line;
  return all.subspan(begin, end - begin);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  return {median, values.back() - values.front()};
}

Spread time_of_an_access(int processor, std::size_t repetitions) {
  constexpr std::size_t k_elements = 512;  // three arrays in 12 KiB: within any first-level cache
  constexpr std::size_t k_passes = 20000;
  std::vector<double> a(k_elements, 1.0);
  std::vector<double> b(k_elements, 2.0);
  std::vector<double> c(k_elements, 3.0);
  const auto section = [&](std::size_t) {
    for (std::size_t pass = 0; pass < k_passes; ++pass) scalar_triad(a, b, c, 0.5);
  };
  return spread_of(rounds(std::span(&processor, 1), repetitions, section,
                          [](Seconds time) { return time.value / (3.0 * k_elements * k_passes); }));
}

Spread time_of_a_call(int processor, LibraryFunction function, std::size_t repetitions) {
  constexpr std::size_t k_passes = 20;
  return spread_of(rounds(
      std::span(&processor, 1), repetitions, [&](std::size_t) { call_library(function, k_passes); },
      [](Seconds time) { return time.value / (k_library_arguments * k_passes); }));
}

Spread time_of_a_streamed_element(int processor, std::span<double> memory, std::size_t repetitions) {
  const auto n = memory.size() / 3;
  const auto section = [&](std::size_t) {
    scalar_triad(memory.first(n), memory.subspan(n, n), memory.subspan(2 * n, n), 0.5);
  };
  return spread_of(rounds(std::span(&processor, 1), repetitions, section,
                          [&](Seconds time) { return time.value / static_cast<double>(n); }));
}

Spread time_of_a_hop(int processor, const ChaseCycle& cycle, std::size_t hops, std::size_t repetitions) {
  auto* at = cycle.start(0, 1);
  return spread_of(rounds(
      std::span(&processor, 1), repetitions, [&](std::size_t) { at = chase(at, hops); },
      [&](Seconds time) { return time.value / static_cast<double>(hops); }));
}

double least_time_of_parallel_hops(int processor, const ChaseCycle& cycle, std::size_t hops,
                                   std::size_t repetitions) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t chains : {4u, 8u, 16u, 32u}) {
    std::vector<ChaseLine*> at(chains);
    for (std::size_t k = 0; k < chains; ++k) at[k] = cycle.start(k, chains);
    const auto each = std::max<std::size_t>(1, hops / chains);
    const auto values = rounds(
        std::span(&processor, 1), repetitions, [&](std::size_t) { chase_many(at, each); },
        [&](Seconds time) { return time.value / static_cast<double>(each * chains); });
    least = std::min(least, spread_of(values).median);
  }
  return least;
}

std::vector<PagesCost> costs_of_pages(int processor, std::span<ChaseLine> memory, std::size_t page_lines,
                                      std::size_t repetitions) {
  constexpr std::uint64_t k_seed = 19620912;  // any
  constexpr std::size_t k_hops = 200'000;
  const auto most = memory.size() / page_lines;
  std::vector<PagesCost> costs;
  for (std::size_t step = 8; 4 * step <= most; step *= 2) {
    for (std::size_t pages = 4 * step; pages < 8 * step && pages <= most; pages += step) {
      const auto hops = std::max(k_hops, 2 * pages);
      const auto apart = least_time_of_parallel_hops(
          processor, ChaseCycle::one_a_page(memory.first(pages * page_lines), page_lines, k_seed), hops,
          repetitions);
      const auto together =
          least_time_of_parallel_hops(processor, ChaseCycle(memory.first(pages), k_seed), hops, repetitions);
      costs.push_back({static_cast<std::uint32_t>(pages), apart - together});
    }
  }
  return costs;
}

std::vector<std::pair<double, Spread>> loaded_hops(std::span<const int> processors, const ChaseCycle& cycle,
                                                   std::size_t hops, std::span<const double> memory,
                                                   std::size_t repetitions) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t k_block = 2048;                      // elements, read at once
  constexpr std::array<double, 5> k_pauses{15, 7, 3, 1, 0};  // for each block, in times that reading one takes
  std::vector<std::pair<double, Spread>> measured;
  if (processors.size() < 2) return measured;
  auto* at = cycle.start(0, 1);
  for (const double pause : k_pauses) {
    std::atomic<std::size_t> chased{0}, blocks{0};
    std::vector<double> times, rates;
    const auto read_until_chased = [&](std::size_t thread, std::size_t round) {
      const auto mine = slice(memory, thread - 1, processors.size() - 1);
      std::size_t from = 0, read = 0;
      while (chased.load(std::memory_order_acquire) <= round) {
        const auto begun = Clock::now();
        if (from + k_block > mine.size()) from = 0;
        read_all(mine.subspan(from, k_block));
        from += k_block;
        ++read;
        const auto until = Clock::now() + (Clock::now() - begun) * pause;
        while (Clock::now() < until) {
        }
      }
      blocks += read;
    };
    run_team(
        processors, repetitions + 1,
        [&](std::size_t thread, std::size_t round) {
          if (thread > 0) return read_until_chased(thread, round);
          at = chase(at, hops);
          chased.store(round + 1, std::memory_order_release);
        },
        [&](std::size_t round, Seconds time) {
          const auto read = static_cast<double>(blocks.exchange(0) * k_block * sizeof(double));
          if (round == 0) return;
          times.push_back(time.value / static_cast<double>(hops));
          rates.push_back(read / time.value);
        });
    measured.emplace_back(spread_of(rates).median, spread_of(times));
  }
  return measured;
}

std::uint32_t reorder_window(int processor, std::span<const std::uint64_t> memory, std::size_t repetitions) {
  constexpr std::size_t k_reads = 20'000;
  constexpr std::size_t k_cached = 1023;  // elements: within any first-level cache
  constexpr double k_step = 1.25;
  std::vector<std::uint64_t> near(k_cached, 1);
  std::uint64_t seed = 1;
  const auto time = [&](std::span<const std::uint64_t> of, std::size_t between) {
    const auto section = [&](std::size_t) { read_apart(of, std::span(near).first(between), k_reads, seed); };
    return least_of(rounds(std::span(&processor, 1), repetitions, section,
                           [&](Seconds seconds) { return seconds.value / k_reads; }));
  };
  std::vector<ApartCost> costs;
  for (double triples = 3; 3 * triples < k_cached; triples *= k_step) {
    const auto count = 3 * static_cast<std::size_t>(triples);
    costs.push_back({static_cast<double>(count) + 1, time(memory, count) - time(near, count)});
  }
  return least_apart(costs);
}

std::uint32_t store_buffer(int processor, std::span<std::uint64_t> memory, std::size_t repetitions) {
  constexpr std::size_t k_writes = 10'000;
  constexpr std::size_t k_cached = 1024;  // elements: within any first-level cache
  constexpr std::size_t k_most = 512;     // stores
  constexpr double k_step = 1.2;
  std::vector<std::uint64_t> near(k_cached, 1);
  std::uint64_t seed = 1;
  const auto time = [&](std::span<std::uint64_t> far, std::size_t between) {
    const auto section = [&](std::size_t) { write_apart(far, near, between, k_writes, seed); };
    return least_of(rounds(std::span(&processor, 1), repetitions, section,
                           [&](Seconds seconds) { return seconds.value / k_writes; }));
  };
  std::vector<ApartCost> costs;
  for (double between = 5; between < k_most; between *= k_step) {
    const auto count = static_cast<std::size_t>(between);
    costs.push_back({static_cast<double>(count) + 1, time(memory, count) - time(near, count)});
  }
  return least_apart(costs);
}

std::vector<StreamsCost> costs_of_streams(int processor, std::span<const std::uint64_t> memory,
                                          std::size_t repetitions) {
  constexpr std::size_t k_line = 8;            // elements
  constexpr std::size_t k_lines_a_round = 16;  // of each stream, at least
  constexpr std::size_t k_least_reads = 100'000;
  std::vector<StreamsCost> costs;
  std::uint64_t seed = 1, sum = 0;
  for (std::size_t streams = 4; streams <= k_most_streams; streams *= 2) {
    const auto reads = std::max(k_least_reads, streams * k_line * k_lines_a_round);
    // Streams go on from round to round, so that they meet lines that are cold; they begin at random, so that they
    // are in different sets of a cache.
    const auto piece = memory.size() / streams;
    const auto needed = (repetitions + 2) * reads / streams;
    if (2 * needed > piece) break;
    std::vector<std::uint32_t> at(streams);
    for (std::size_t s = 0; s < streams; ++s) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      at[s] = static_cast<std::uint32_t>(s * piece + ((seed >> 32) * (piece - needed) >> 32));
    }
    const auto times = rounds(
        std::span(&processor, 1), repetitions, [&](std::size_t) { sum += read_streams(memory, at, reads, seed); },
        [&](Seconds seconds) { return seconds.value * k_line / static_cast<double>(reads); });
    costs.push_back({static_cast<std::uint32_t>(streams), least_of(times)});
  }
  volatile std::uint64_t kept = sum;  // the reads are not for nothing
  (void)kept;
  return costs;
}

std::vector<std::pair<std::string, Spread>> bandwidths(std::span<const int> processors, std::span<double> memory,
                                                       std::size_t repetitions) {
  const auto n = memory.size() / 3;
  const auto a = memory.first(n);
  const auto b = memory.subspan(n, n);
  const auto c = memory.subspan(2 * n, n);
  const auto threads = processors.size();
  constexpr double k_scalar = 3;
  std::vector<double> sums(8 * threads);  // a cache line for each thread's sum
  struct Kernel {
    const char* name;
    double arrays;  // that the kernel reads or writes
    std::function<void(std::size_t)> run;
  };
  const auto of = [&](std::span<double> array, std::size_t thread) { return slice(array, thread, threads); };
  const std::vector<Kernel> kernels = {
      // The first gives every array its values, by the threads that will use them.
      {"write", 3,
       [&](std::size_t t) {
         write_all(of(a, t), 1);
         write_all(of(b, t), 2);
         write_all(of(c, t), 0);
       }},
      {"copy", 2, [&](std::size_t t) { stream_copy(of(c, t), of(a, t)); }},
      {"scale", 2, [&](std::size_t t) { stream_scale(of(b, t), of(c, t), k_scalar); }},
      {"add", 3, [&](std::size_t t) { stream_add(of(c, t), of(a, t), of(b, t)); }},
      {"triad", 3, [&](std::size_t t) { stream_triad(of(a, t), of(b, t), of(c, t), k_scalar); }},
      {"read", 3,
       [&](std::size_t t) { sums[8 * t] = read_all(of(a, t)) + read_all(of(b, t)) + read_all(of(c, t)); }},
  };
  std::vector<std::pair<std::string, Spread>> rates;
  for (const auto& kernel : kernels) {
    const double bytes = kernel.arrays * static_cast<double>(n * sizeof(double));
    rates.emplace_back(kernel.name, spread_of(rounds(processors, repetitions, kernel.run,
                                                     [&](Seconds time) { return bytes / time.value; })));
  }
  return rates;
}

Spread copy_bandwidth(int processor, std::span<const double> from, std::span<double> to, std::size_t repetitions) {
  const auto bytes = std::min(from.size_bytes(), to.size_bytes());
  return spread_of(rounds(
      std::span(&processor, 1), repetitions, [&](std::size_t) { std::memcpy(to.data(), from.data(), bytes); },
      [&](Seconds time) { return static_cast<double>(bytes) / time.value; }));
}

}  // namespace terrace::machine
