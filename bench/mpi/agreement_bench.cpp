// Measures what the agreement of ranks (strategy/ranks/rank_group.hpp) costs a rank, for `make bench`: an
// iteration without and with a reading of the other ranks' records, a search for dead ranks, and a division of
// fast memory. The other ranks are processes that have published their records and sleep.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <vector>

#include "strategy/ranks/rank_group.hpp"

namespace {

using namespace terrace;

const machine::Budget k_budget{{1ULL << 34}, {1ULL << 36}};

class SteppedClock final : public Clock {
 public:
  Seconds now() override { return time; }
  void charge(Seconds) override {}
  Seconds time{1};
};

strategy::GainCurve make_curve(std::uint32_t rank) {
  strategy::GainCurve curve;
  curve.num_phases = 8;
  curve.num_steps = strategy::GainCurve::k_max_steps;
  for (std::uint32_t step = 0; step <= curve.num_steps; ++step) {
    curve.bytes[step] = std::uint64_t{step} << 28;
    for (std::uint32_t phase = 0; phase < curve.num_phases; ++phase)
      curve.time[step][phase] = 1e-3F * static_cast<float>(1 + rank % 7) / static_cast<float>(1 + step);
  }
  return curve;
}

struct Rank {
  Rank(memory::LedgerPage& page, std::uint32_t number)
      : ledger(page, k_budget), group({&ledger, &clock, {0}, k_budget, number}) {
    group.begin_loop("main");
    group.begin_iteration(0);
    group.publish_gains({make_curve(number)});
  }
  SteppedClock clock;
  memory::Ledger ledger;
  strategy::RankGroup group;
};

// A job of `ranks` ranks, of which this process is the first.
class Job {
 public:
  explicit Job(std::int64_t ranks)
      : page_(new (::mmap(nullptr, sizeof(memory::LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0)) memory::LedgerPage{}) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    char byte = 0;
    for (std::int64_t number = 1; number < ranks; ++number) {
      processes_.push_back(::fork());
      if (processes_.back() != 0) continue;
      const Rank rank(*page_, static_cast<std::uint32_t>(number));
      (void)!::write(ready[1], &byte, 1);
      while (true) ::pause();
    }
    for (std::int64_t number = 1; number < ranks; ++number) (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Job() {
    for (const auto process : processes_) ::kill(process, SIGKILL);
    for (const auto process : processes_) ::waitpid(process, nullptr, 0);
    ::munmap(page_, sizeof(memory::LedgerPage));
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  memory::LedgerPage& page() { return *page_; }

 private:
  memory::LedgerPage* page_;
  std::vector<pid_t> processes_;
};

void begin_iterations(benchmark::State& state, Seconds step) {
  Job job(state.range(0));
  Rank rank(job.page(), 0);
  std::uint32_t iteration = 0;
  for (auto _ : state) {
    rank.clock.time += step;
    rank.group.begin_iteration(++iteration);
  }
}
void begin_iteration(benchmark::State& state) { begin_iterations(state, Seconds{}); }
void begin_iteration_and_read(benchmark::State& state) {
  begin_iterations(state, 1.01 * strategy::RankGroup::k_min_read_interval);
}
void begin_iteration_and_search(benchmark::State& state) {
  begin_iterations(state, 1.01 * strategy::RankGroup::k_dead_rank_scan_interval);
}
void divide(benchmark::State& state) {
  Job job(state.range(0));
  Rank rank(job.page(), 0);
  for (auto _ : state) rank.group.divide();
}

BENCHMARK(begin_iteration)->Arg(1)->Arg(64);
BENCHMARK(begin_iteration_and_read)->RangeMultiplier(4)->Range(4, 128);
BENCHMARK(begin_iteration_and_search)->RangeMultiplier(4)->Range(4, 128);
BENCHMARK(divide)->RangeMultiplier(4)->Range(4, 128)->Unit(benchmark::kMicrosecond);

}  // namespace
