// Measures what a machine's kernel and processor report of a program's accesses, at what cost, and what they miss,
// for `make bench`: each way to monitor pages, on small and on huge pages, and each event that samples accesses.
// Unavailable ones report the reason.
//
//     pages/WAY/KIND   of 1 GiB in memory, medians: begin_ms and read_ms, what Terrace's thread takes to begin
//                      and to end a window; touch_ms, what the program loses in it when it uses each page once
//                      (stores, the second touch subtracted); used_share, the touched bytes that were reported
//     events/NAME      of a loop of dependent loads: seconds with the event over seconds without, samples a
//                      second, and lost samples
#include <benchmark/benchmark.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/system_time.hpp"
#include "observe/page_watch.hpp"
#include "observe/perf/memory_sampler.hpp"
#include "observe/perf/names/memory_events.hpp"

namespace {

using namespace terrace;
using namespace terrace::observe;

constexpr std::uint64_t k_memory = 1UL << 30U, k_page = 4096, k_huge_page = 2UL << 20U;
constexpr int k_windows = 7;

// Returns this thread's processor time, as other programs may use the machine.
double seconds_now() { return to_seconds(read_clock(CLOCK_THREAD_CPUTIME_ID)); }

class Memory {
 public:
  explicit Memory(bool huge) {
    map_ = static_cast<char*>(
        mmap(nullptr, k_memory + 2 * k_huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    begin_ = map_ + k_huge_page - reinterpret_cast<std::uint64_t>(map_) % k_huge_page;
    mprotect(begin_, k_memory, PROT_READ | PROT_WRITE);
    madvise(begin_, k_memory, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(begin_, 1, k_memory);
  }
  ~Memory() { munmap(map_, k_memory + 2 * k_huge_page); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] WatchedRange range() const {
    const auto low = reinterpret_cast<std::uint64_t>(begin_);
    return {low, low + k_memory};
  }
  // Returns the seconds to write to each page.
  [[nodiscard]] double touch() const {
    const auto begun = seconds_now();
    for (std::uint64_t at = 0; at < k_memory; at += k_page) *static_cast<volatile char*>(begin_ + at) = 2;
    return seconds_now() - begun;
  }

 private:
  char *map_, *begin_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void pages(benchmark::State& state, const PageWatchVariant* variant, bool huge) {
  if (const auto reason = variant->unavailable_reason(); !reason.empty())
    return state.SkipWithError(reason.c_str());
  const auto watch = variant->make();
  const Memory memory(huge);
  const WatchedRange ranges[] = {memory.range()};
  std::vector<double> begin, read, touch;
  std::uint64_t used[1] = {};
  for (auto _ : state) {
    for (int window = 0; window < k_windows; ++window) {
      const auto begun = seconds_now();
      watch->begin(ranges);
      begin.push_back(seconds_now() - begun);
      const auto first = memory.touch();
      touch.push_back(first - memory.touch());
      const auto ended = seconds_now();
      watch->read(ranges, used);
      read.push_back(seconds_now() - ended);
    }
  }
  state.counters["begin_ms"] = 1e3 * median(begin);
  state.counters["touch_ms"] = 1e3 * median(touch);
  state.counters["read_ms"] = 1e3 * median(read);
  state.counters["used_share"] =
      used[0] == PageWatch::k_unknown ? 0 : static_cast<double>(used[0]) / static_cast<double>(k_memory);
  const auto misses = variant->blind_spots();
  state.SetLabel(misses.empty() ? "misses nothing" : "misses " + std::string(misses));
}

// Returns a chain of dependent loads: each value is the next index.
std::vector<std::uint64_t> chain() {
  std::vector<std::uint64_t> next(std::size_t{8} << 20U);
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = (i * 2654435761U + 12345) % next.size();
  return next;
}

double chase(const std::vector<std::uint64_t>& next) {
  const auto begun = seconds_now();
  std::uint64_t at = 0;
  for (int i = 0; i < 10'000'000; ++i) at = next[at];
  benchmark::DoNotOptimize(at);
  return seconds_now() - begun;
}

void events(benchmark::State& state, const PerfEvent& event) {
  const PerfEvent wanted[] = {event};
  if (const auto reason = MemorySampler::unavailable_reason(wanted); !reason.empty())
    return state.SkipWithError(reason.c_str());
  const auto next = chain();
  std::vector<double> without, with;
  SamplerCounts counts;
  std::string blind_spots;
  for (auto _ : state) {
    MemorySampler sampler;
    for (int round = 0; round < k_windows; ++round) {
      without.push_back(chase(next));
      sampler.start(wanted);
      with.push_back(chase(next));
      sampler.poll([](std::span<const MemorySample>) {});
      counts = sampler.counts();
      blind_spots = sampler.blind_spots();
      sampler.stop();
    }
  }
  state.counters["time_ratio"] = median(with) / median(without);
  state.counters["samples_a_second"] = static_cast<double>(counts.samples) / median(with);
  state.counters["lost"] = static_cast<double>(counts.lost);
  state.SetLabel(blind_spots.empty() ? "misses nothing" : "misses " + blind_spots);
}

const bool g_registered = [] {
  for (const auto* variant : page_watches()) {
    for (const bool huge : {false, true}) {
      const auto name = "pages/" + std::string(variant->name()) + (huge ? "/huge" : "/small");
      benchmark::RegisterBenchmark(name.c_str(), pages, variant, huge)
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  const auto found = memory_events();
  for (const auto& event : found.events)
    benchmark::RegisterBenchmark(("events/" + event.name).c_str(), events, event)
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  if (found.events.empty()) {
    const auto none = [](benchmark::State& state, const std::string& why) { state.SkipWithError(why.c_str()); };
    benchmark::RegisterBenchmark("events/none", none, found.unavailable_reason);
  }
  return true;
}();

}  // namespace
