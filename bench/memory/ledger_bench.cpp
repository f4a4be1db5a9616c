// Measures the ledger (the accounting of memory that the processes of a job share) for `make bench`: a charge with
// its release, and the query of the free bytes, in private memory (virtual time) and concurrently with other
// processes.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <vector>

#include "memory/ledger.hpp"

namespace {

using namespace terrace;

const machine::Budget k_budget{{1ULL << 34}, {1ULL << 36}};

void take_and_give(benchmark::State& state) {
  const auto page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger(*page, k_budget);
  for (auto _ : state) {
    benchmark::DoNotOptimize(ledger.take(0, {4096}));
    ledger.give(0, {4096});
  }
}
BENCHMARK(take_and_give);

void ask_what_is_left(benchmark::State& state) {
  const auto page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger(*page, k_budget);
  ledger.take(0, {4096});
  for (auto _ : state) benchmark::DoNotOptimize(ledger.available(0));
}
BENCHMARK(ask_what_is_left);

// Other processes of a job, which hold a charge and sleep.
class Others {
 public:
  Others(memory::LedgerPage& page, std::int64_t count) {
    int ready[2];
    if (::pipe(ready) != 0) return;
    for (std::int64_t i = 0; i < count; ++i) {
      processes_.push_back(::fork());
      if (processes_.back() != 0) continue;
      memory::Ledger ledger(page, k_budget);
      ledger.take(0, {4096});
      char byte = 0;
      (void)!::write(ready[1], &byte, 1);
      while (true) ::pause();
    }
    char byte = 0;
    for (std::int64_t i = 0; i < count; ++i) (void)!::read(ready[0], &byte, 1);
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Others() {
    for (const auto process : processes_) ::kill(process, SIGKILL);
    for (const auto process : processes_) ::waitpid(process, nullptr, 0);
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

 private:
  std::vector<pid_t> processes_;
};

void* shared_memory() {
  return ::mmap(nullptr, sizeof(memory::LedgerPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void take_and_give_beside_others(benchmark::State& state) {
  auto* page = new (shared_memory()) memory::LedgerPage{};
  {
    const Others others(*page, state.range(0));
    memory::Ledger ledger(*page, k_budget);
    for (auto _ : state) {
      benchmark::DoNotOptimize(ledger.take(0, {4096}));
      ledger.give(0, {4096});
    }
  }
  ::munmap(page, sizeof(memory::LedgerPage));
}
BENCHMARK(take_and_give_beside_others)->Arg(3)->Arg(63);

}  // namespace
