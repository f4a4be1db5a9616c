// Compares the cost of moves with the prices of the measured machine file and with bare copies, while another
// thread of the program computes; for `make bench`. On one node chunks are moved within it.
//
//     mixed_moves   10,000 chunks of 64 KiB to 8 MiB, in small and in huge pages, in random order, through the
//                   queue: seconds, those that the price adds up to, their ratio; and the mover's processor time,
//                   which says more where other programs use the machine
//     shares/...    of the best bare copy loop: exchanged pages; copies whose mappings are then swapped by two
//                   mremap(2) (they lose what is written meanwhile); and what move_pages(2) takes, which between
//                   places of one node moves nothing. Medians, interleaved
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "core/clock.hpp"
#include "core/rounding.hpp"
#include "core/system_time.hpp"
#include "machine/copier_price.hpp"
#include "machine/measure/measured_rounds.hpp"
#include "transfer/exchange/copy_kernels.hpp"
#include "transfer/measure/copier_rig.hpp"
#include "transfer/measure/measure_copiers.hpp"
#include "transfer/move_queue.hpp"

namespace {

using namespace terrace;
using namespace terrace::transfer;
using machine::Pages;

constexpr Bytes k_memory{256UL << 20};
constexpr std::size_t k_moves = 10'000;
constexpr int k_rounds = 9;
constexpr std::uint64_t k_plenty = 1ULL << 40;

class WallClock final : public Clock {
 public:
  Seconds now() override { return {seconds_now()}; }
  void charge(Seconds) override {}
};

// Runs the other thread of the program, which computes.
class Running {
 public:
  Running() : thread_([this] { beside_.run(); }) { beside_.await_calibration(); }
  // Returns the processor time of the process without that thread's.
  [[nodiscard]] double others_time() {
    clockid_t clock{};
    pthread_getcpuclockid(thread_.native_handle(), &clock);
    return to_seconds(read_clock(CLOCK_PROCESS_CPUTIME_ID)) - to_seconds(read_clock(clock));
  }
  ~Running() {
    beside_.stop();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  BackgroundLoad beside_;
  std::thread thread_;
};

const machine::MachineFile& this_machine() {
  static const auto file = [] {
    const auto discovered = machine::discover_details();
    auto measured = machine::measure_machine(discovered, {.quick = true});
    measured.measured->repetitions = 5;
    measure_copiers(measured, discovered);
    return measured;
  }();
  return file;
}

// Returns the machine with the price of chunks that have no huge pages.
machine::Machine with_small_pages(const machine::Machine& machine) {
  auto parts = machine.parts();
  parts.copiers.front().pages.resize(1);
  return machine::Machine(std::move(parts));
}

void mixed_moves(benchmark::State& state) {
  const auto& file = this_machine();
  if (file.machine.parts().copiers.empty()) return state.SkipWithError("this machine lets no copier work");
  const auto small_machine = with_small_pages(file.machine);
  const auto machine = two_places(0, 0);
  const auto page = std::make_unique<memory::LedgerPage>();
  memory::Ledger ledger(*page, machine::Budget(2, Bytes{k_plenty}));
  memory::ChunkTable chunks;
  WallClock clock;
  const machine::PlacedBuffer huge(k_memory, Pages::huge, -1);
  const machine::PlacedBuffer small(k_memory, Pages::small, -1);
  std::mt19937 random(1);
  std::map<std::uint64_t, ChunkId> known;  // chunks by where they begin, of one size each
  std::map<ChunkId, PlaceId> at;
  std::vector<TransferRequest> requests;
  double predicted = 0;
  std::uint64_t bytes = 0;
  while (requests.size() < k_moves) {
    const bool in_huge = random() % 2 == 0;
    const std::uint64_t size = in_huge ? 2ULL << 20 << random() % 3 : 64ULL << 10 << random() % 8;
    const auto begin = reinterpret_cast<std::uint64_t>((in_huge ? huge : small).as<std::byte>().data());
    const auto where = begin + random() % (k_memory.value / size) * size;
    const auto [found, is_new] = known.try_emplace(where * 64 + std::bit_width(size), 0);
    if (is_new) {
      found->second = chunks.add(where, static_cast<std::uint32_t>(size), 0, 0, 0);
      ledger.take(0, Bytes{size});
    }
    auto& place = at[found->second];
    place = 1 - place;
    requests.push_back({found->second, place});
    const auto home = file.machine.domains()[0].places.front();
    predicted += move_time(in_huge ? file.machine : small_machine, 0, 1, home, home, Bytes{size}).value;
    bytes += size;
  }
  for (auto _ : state) {
    Running load;
    MoveQueue queue(machine, chunks, ledger, clock);
    const auto busy_before = load.others_time();
    const auto begun = seconds_now();
    const auto first = queue.submit(requests);
    queue.wait(first + requests.size() - 1);
    const auto measured = seconds_now() - begun;
    const auto busy = load.others_time() - busy_before;
    state.SetIterationTime(measured);
    for (const auto& result : queue.completions())
      if (result.refused) state.SkipWithError("a move was refused");
    state.counters["measured_s"] = measured;
    state.counters["predicted_s"] = predicted;
    state.counters["ratio"] = predicted / measured;
    state.counters["busy_s"] = busy;
    state.counters["ratio_busy"] = predicted / busy;
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(mixed_moves)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

// Copies each chunk into prepared pages and swaps the mappings.
class Remapped {
 public:
  Remapped(bool huge, std::size_t size) : huge_(huge), size_(size) {
    map_ = mmap(nullptr, k_memory.value + 2 * k_huge_page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    begin_ = static_cast<char*>(map_) + (-reinterpret_cast<std::uint64_t>(map_)) % k_huge_page;
    advise(begin_, k_memory.value);
    memset(begin_, 1, k_memory.value);
    for (auto*& spare : spares_) {
      spare_maps_.push_back(mmap(nullptr, size_ + k_huge_page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
      spare = static_cast<char*>(spare_maps_.back()) +
              (-reinterpret_cast<std::uint64_t>(spare_maps_.back())) % k_huge_page;
    }
    advise(spares_[0], size_);
    memset(spares_[0], 1, size_);
  }
  ~Remapped() {
    munmap(map_, k_memory.value + 2 * k_huge_page);
    for (auto* spare : spare_maps_) munmap(spare, size_ + k_huge_page);
  }
  Remapped(const Remapped&) = delete;
  Remapped& operator=(const Remapped&) = delete;

  std::vector<double> sweep(Copier& copier) {
    std::vector<double> times;
    for (std::size_t at = 0; at + size_ <= k_memory.value; at += size_) {
      const auto begun = seconds_now();
      copier.copy(spares_[0], begin_ + at, size_);
      mremap(begin_ + at, size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, spares_[1]);
      mremap(spares_[0], size_, size_, MREMAP_MAYMOVE | MREMAP_FIXED, begin_ + at);
      times.push_back(seconds_now() - begun);
      std::swap(spares_[0], spares_[1]);
    }
    return times;
  }

 private:
  void advise(void* begin, std::size_t size) const {
    madvise(begin, size, huge_ ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }

  bool huge_;
  std::size_t size_;
  void* map_;
  char* begin_;
  std::vector<void*> spare_maps_;
  char* spares_[2]{};
};

const CopierVariant* variant_called(std::string_view name) {
  const auto found = std::ranges::find(copiers(), name, &CopierVariant::name);
  return found == copiers().end() ? nullptr : *found;
}

void shares(benchmark::State& state, bool huge) {
  const Bytes size{static_cast<std::uint64_t>(state.range(0))};
  const auto pages = huge ? Pages::huge : Pages::small;
  CopierRig swap(*variant_called("numa_swap"), 0, 0, pages, k_memory);
  CopierRig asked(*variant_called("numa_move_pages"), 0, 0, pages, k_memory);
  if (!swap.copier()) return state.SkipWithError("this system does not let pages be moved");
  Remapped remapped(huge, size.value);
  std::map<std::string, std::vector<double>> times;
  const auto note = [&](const char* what, const std::vector<double>& all) {
    times[what].insert(times[what].end(), all.begin(), all.end());
  };
  const Running load;
  for (auto _ : state) {
    for (int round = 0; round < k_rounds; ++round) {
      note("kernel", swap.copies(size));
      note("memcpy", asked.copies(size));
      note("exchange", swap.sweep(size));
      note("mremap", remapped.sweep(*swap.copier()));
      note("move_pages", asked.sweep(size));
    }
  }
  const auto median = [&](const char* what) { return machine::spread_of(times[what]).median; };
  const auto best = std::min(median("kernel"), median("memcpy"));
  state.counters["copy_us"] = 1e6 * best;
  for (const char* what : {"exchange", "mremap", "move_pages"})
    state.counters[std::string(what) + "_us"] = 1e6 * median(what);
  state.counters["exchange_share"] = best / median("exchange");
  state.counters["mremap_share"] = best / median("mremap");
}
BENCHMARK_CAPTURE(shares, huge, true)->Arg(8 << 20)->Arg(2 << 20)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(shares, small, false)
    ->Arg(8 << 20)
    ->Arg(2 << 20)
    ->Arg(512 << 10)
    ->Arg(64 << 10)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
