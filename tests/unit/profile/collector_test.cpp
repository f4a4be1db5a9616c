// Collectors: exact counters against counting by hand, sampled ones against exact ones within the error that
// sampling_collector.hpp states.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "base/error.hpp"
#include "profile/exact_collector.hpp"
#include "profile/sampling_collector.hpp"

namespace terrace::profile {
namespace {

using backend::Miss;
using backend::MissKind;

machine::Machine example() {
  machine::MachineParts parts;
  parts.name = "example";
  parts.places = {{"fast", "hbm", {1ull << 30}, {4096}, 0, -1}, {"slow", "ddr", {16ull << 30}, {4096}, 0, -1}};
  parts.paths = {{0, 0, {16e9}, {8e9}, {100e-9}}, {0, 1, {4e9}, {2e9}, {300e-9}}};
  machine::Initiator initiator;
  initiator.name = "core";
  initiator.frequency_hz = 1e9;
  initiator.access_time = {1e-9};
  initiator.mlp = 10;
  initiator.prefetch_mlp = 20;
  initiator.caches = {{"l1", {32u << 10}, 8, false, {1e-9}}, {"l2", {1u << 20}, 8, true, {10e-9}}};
  parts.initiators = {initiator};
  parts.domains = {{"node", 0, {}}};
  return machine::Machine(parts);
}

class Program {
 public:
  explicit Program(std::uint32_t count, std::uint32_t seed = 1) : machine(example()), random(seed) {
    for (std::uint32_t i = 0; i < count; ++i)
      chunks.add(4096ull * i, 65536, 0, 0, static_cast<machine::PlaceId>(i % 2));
  }
  // A quantum with misses of all kinds, chunk i met in proportion to i + 1.
  std::vector<Miss> misses(std::size_t count) {
    std::vector<double> shares;
    for (std::size_t i = 0; i < chunks.size(); ++i) shares.push_back(static_cast<double>(i + 1));
    std::discrete_distribution<std::uint32_t> pick(shares.begin(), shares.end());
    std::vector<Miss> misses;
    for (std::size_t i = 0; i < count; ++i) {
      const auto kind = static_cast<MissKind>(random() % 4);
      const bool waits = kind == MissKind::dependent || kind == MissKind::independent;
      const auto weight = static_cast<std::uint8_t>(waits ? random() % 256 : 0);
      misses.push_back({pick(random), static_cast<std::uint16_t>(random()), weight, kind});
    }
    return misses;
  }

  machine::Machine machine;
  memory::ChunkTable chunks;
  std::mt19937 random;
};

void run(Collector& collector, const std::vector<Miss>& misses, std::uint64_t accesses,
         std::array<std::uint64_t, 4> hits = {}) {
  collector.quantum({0, accesses, hits, misses});
}

TEST(ExactCollector, CountsWhatAProgramCounts) {
  Program program(7);
  ExactCollector collector(program.machine, 0, 2, program.chunks);
  collector.begin_iteration(3);
  std::map<memory::ChunkId, Cell> truth;
  for (const auto* name : {"first", "second"}) {
    truth.clear();
    collector.begin_phase(name);
    double core = 0;
    std::array<double, 2> busy{};
    for (int q = 0; q < 5; ++q) {
      const auto misses = program.misses(1000);
      run(collector, misses, 5000, {3000, 1000, 0, 0});
      core += (5000 * 1e-9 + 1000 * 10e-9 / 10) / 2;
      for (const auto& miss : misses) {
        auto& cell = truth[miss.chunk];
        const auto place = miss.chunk % 2;
        if (miss.kind == MissKind::writeback) {
          cell.write_lines += 1;
          busy[place] += 64 / (place == 0 ? 8e9 : 2e9);
        } else {
          cell.read_lines += 1;
          busy[place] += 64 / (place == 0 ? 16e9 : 4e9);
        }
        if (miss.kind == MissKind::prefetched) cell.exposure += 1.0 / 20 / 2;
        if (miss.kind == MissKind::independent) cell.exposure += 1.0 / 10 / 2;
        cell.exposure += miss.weight / 255.0 / 2;
      }
    }
    collector.end_phase({0.25});
    // The phases differ, so that what is left over from the first would show in the second.
    if (std::string(name) == "second") {
      const auto iteration = collector.take_iteration();
      ASSERT_EQ(iteration.phases.size(), 2u);
      EXPECT_EQ(iteration.number, 3u);
      const auto& phase = iteration.phases[1];
      EXPECT_EQ(phase.name, "second");
      EXPECT_EQ(phase.time.value, 0.25);
      EXPECT_NEAR(phase.core.value, core, 1e-15);
      EXPECT_NEAR(phase.bandwidth_time.value, std::max(busy[0], busy[1]), 1e-15);
      EXPECT_EQ(phase.samples, 0);
      ASSERT_EQ(phase.cells.size(), truth.size());
      for (std::size_t i = 0; i < phase.cells.size(); ++i) {
        const auto& cell = phase.cells[i];
        if (i > 0) {
          EXPECT_LT(phase.cells[i - 1].chunk, cell.chunk);
        }
        EXPECT_EQ(cell.read_lines, truth[cell.chunk].read_lines);
        EXPECT_EQ(cell.write_lines, truth[cell.chunk].write_lines);
        EXPECT_NEAR(cell.exposure, truth[cell.chunk].exposure, 1e-9);
        EXPECT_EQ(cell.samples, 0);
      }
    }
  }
}

// Core time alone: 3 calls at the machine's own time, 50 at the usual cycles at its 1 GHz, shared by two cores.
TEST(ExactCollector, CountsWhatCallsOfLibmTake) {
  using machine::LibraryFunction;
  Program program(1);
  auto parts = program.machine.parts();
  const auto number = [](LibraryFunction function) { return static_cast<std::uint32_t>(function); };
  parts.initiators[0].library[number(LibraryFunction::exp)] = {40e-9};
  ExactCollector collector(machine::Machine(parts), 0, 2, program.chunks);
  const std::array<backend::LibraryCalls, 2> calls{
      {{number(LibraryFunction::exp), 3}, {number(LibraryFunction::powf), 50}}};
  collector.begin_iteration(0);
  collector.begin_phase("calls");
  collector.quantum({0, 0, {}, {}, calls});
  collector.end_phase({1});
  const double cycles = machine::k_library[number(LibraryFunction::powf)].cycles;
  EXPECT_EQ(machine::k_library[number(LibraryFunction::powf)].name, "powf");
  EXPECT_NEAR(collector.take_iteration().phases[0].core.value, (3 * 40e-9 + 50 * cycles * 1e-9) / 2, 1e-18);
}

// 7 walks, shared by two cores, beside 100 accesses and 20 hits at latency / mlp; on a machine without a TLB,
// none.
TEST(ExactCollector, CountsWhatPageWalksTake) {
  Program program(1);
  auto parts = program.machine.parts();
  for (const double walk : {3e-9, 0.0}) {
    parts.initiators[0].tlb = {walk > 0 ? 64U : 0U, 4, {4096}, {walk}};
    ExactCollector collector(machine::Machine(parts), 0, 2, program.chunks);
    collector.begin_iteration(0);
    collector.begin_phase("walks");
    backend::Quantum quantum{0, 100, {80, 20, 0, 0}, {}};
    quantum.walks = 7;
    collector.quantum(quantum);
    collector.end_phase({1});
    EXPECT_NEAR(collector.take_iteration().phases[0].core.value, (100 * 1e-9 + 20 * 1e-9 + 7 * walk) / 2, 1e-18);
  }
}

// Threads that run side by side: the phase cannot have been shorter than what each did on average, whoever was
// there in each of its segments.
TEST(ExactCollector, SharesCoreTimeAndExposureAmongThreadsOfAPhase) {
  Program program(9);
  ExactCollector collector(program.machine, 0, 1, program.chunks);
  collector.begin_iteration(0);
  const std::vector<Miss> waits(100, Miss{0, 0, 255, MissKind::dependent});
  const auto phase = [&](std::string_view name, std::initializer_list<std::uint32_t> threads) {
    collector.begin_phase(name);
    for (const auto thread : threads) collector.quantum({thread, 5000, {5000}, waits});
    collector.end_phase({1});
  };
  phase("serial", {0});
  phase("parallel", {0});
  phase("parallel@5000", {1, 2});
  phase("parallel@15000", {2});
  const auto phases = collector.take_iteration().phases;
  EXPECT_NEAR(phases[0].core.value, 5e-6, 1e-15);
  EXPECT_NEAR(phases[0].cells.at(0).exposure, 100, 1e-9);
  EXPECT_NEAR(phases[1].core.value, 5e-6 / 3, 1e-15);
  EXPECT_NEAR(phases[2].core.value, 10e-6 / 3, 1e-15);
  EXPECT_NEAR(phases[2].cells.at(0).exposure, 200.0 / 3, 1e-9);
  EXPECT_NEAR(phases[3].cells.at(0).exposure, 100.0 / 3, 1e-9);
  collector.begin_iteration(1);  // forgets who ran before
  phase("parallel", {1});
  EXPECT_NEAR(collector.take_iteration().phases[0].cells.at(0).exposure, 100, 1e-9);
}

TEST(ExactCollector, CellsDoNotDependOnWhereDataLies) {
  const auto with = [](machine::PlaceId place) {
    Program program(5);
    for (memory::ChunkId c = 0; c < 5; ++c) program.chunks[c].place = place;
    ExactCollector collector(program.machine, 0, 1, program.chunks);
    collector.begin_iteration(0);
    collector.begin_phase("p");
    run(collector, program.misses(5000), 9000);
    collector.end_phase({1});
    return collector.take_iteration().phases.at(0);
  };
  const auto fast = with(0), slow = with(1), nowhere = with(machine::k_no_place);
  EXPECT_EQ(fast.core, slow.core);
  EXPECT_NEAR(slow.bandwidth_time / fast.bandwidth_time, 4, 1e-9);
  EXPECT_EQ(nowhere.bandwidth_time, slow.bandwidth_time) << "data that was not settled lies at home";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(fast.cells[i].read_lines, slow.cells[i].read_lines);
    EXPECT_EQ(fast.cells[i].exposure, slow.cells[i].exposure);
  }
}

TEST(ExactCollector, MemoryThatBelongsToNoChunkIsTimeThatNoPlacementWins) {
  Program program(1);
  ExactCollector collector(program.machine, 0, 1, program.chunks);
  collector.begin_iteration(0);
  collector.begin_phase("p");
  run(collector, std::vector<Miss>(100, {memory::k_no_chunk, 0, 255, MissKind::dependent}), 1000);
  collector.end_phase({1});
  const auto phase = collector.take_iteration().phases.at(0);
  EXPECT_TRUE(phase.cells.empty());
  EXPECT_NEAR(phase.core.value, 1000e-9 + 100 * 300e-9, 1e-15);
}

TEST(Collector, HearsNothingOutsideOfPhasesOrWhileInactive) {
  Program program(3);
  ExactCollector collector(program.machine, 0, 1, program.chunks);
  const auto misses = program.misses(100);
  collector.begin_iteration(0);
  run(collector, misses, 100);
  collector.begin_phase("a");
  collector.set_active(false);
  run(collector, misses, 100);
  collector.set_active(true);
  collector.end_phase({1});
  collector.end_phase({2});  // no phase is open
  run(collector, misses, 100);
  collector.begin_phase("b");
  run(collector, misses, 100);
  collector.begin_iteration(1);  // what was not taken is dropped, open phases too
  collector.begin_phase("c");
  collector.end_phase({3});
  const auto iteration = collector.take_iteration();
  EXPECT_EQ(iteration.number, 1u);
  ASSERT_EQ(iteration.phases.size(), 1u);
  EXPECT_EQ(iteration.phases[0].name, "c");
  EXPECT_TRUE(iteration.phases[0].cells.empty());
  EXPECT_EQ(iteration.phases[0].core.value, 0);
  EXPECT_TRUE(collector.take_iteration().phases.empty());
}

// Both collectors on one program of several phases; how far the sampled sums lie from the exact ones.
struct Both {
  explicit Both(std::uint32_t chunks, std::uint32_t quanta, Seconds interval, double cores = 1,
                std::uint32_t seed = 1)
      : program(chunks, seed),
        exact(program.machine, 0, cores, program.chunks),
        sampled(program.machine, 0, cores, program.chunks, interval) {
    Tee tee;
    tee.add(exact);
    tee.add(sampled);
    for (Collector* collector : {static_cast<Collector*>(&exact), static_cast<Collector*>(&sampled)}) {
      collector->begin_iteration(0);
      collector->begin_phase("p");
    }
    for (std::uint32_t q = 0; q < quanta; ++q) {
      const auto misses = program.misses(4000);
      tee.quantum({0, 20000, {16000, 0, 0, 0}, misses});
    }
    exact.end_phase({1});
    sampled.end_phase({1});
    truth = exact.take_iteration().phases.at(0);
    seen = sampled.take_iteration().phases.at(0);
  }
  [[nodiscard]] double progress() const {
    double time = truth.core.value;
    for (const auto& cell : truth.cells) time += cell.exposure * (cell.chunk % 2 == 0 ? 100e-9 : 300e-9);
    return time;
  }
  Program program;
  ExactCollector exact;
  SamplingCollector sampled;
  Phase truth, seen;
};

TEST(SamplingCollector, TakesOneTimeSampleInEveryInterval) {
  for (const double interval : {1e-7, 1e-6, 3.7e-6}) {
    const Both both(8, 40, {interval});
    EXPECT_NEAR(both.seen.samples, both.progress() / interval, 1.01);
  }
}

TEST(SamplingCollector, EstimatesWhatTheExactOneCounts) {
  const Both both(8, 200, {1e-6});
  const double n = both.seen.samples;
  const double share_of_core = both.truth.core.value / both.progress();
  EXPECT_NEAR(both.seen.core / both.truth.core, 1, 4 * std::sqrt(1 / (share_of_core * n)));
  ASSERT_EQ(both.seen.cells.size(), both.truth.cells.size());
  double with_access = 0;
  for (std::size_t i = 0; i < both.seen.cells.size(); ++i) {
    const auto& seen = both.seen.cells[i];
    const auto& truth = both.truth.cells[i];
    const double latency = truth.chunk % 2 == 0 ? 100e-9 : 300e-9;
    const double share = truth.exposure * latency / both.progress();
    // Four standard errors of the share that the header states, relative to the share.
    const double error = 4 * std::sqrt(share * (1 - share) / n) / share;
    EXPECT_NEAR(seen.exposure / truth.exposure, 1, error);
    EXPECT_NEAR(seen.samples * 1e-6 / latency, seen.exposure, 1e-6 * seen.exposure);
    with_access += seen.samples;
    EXPECT_NEAR(seen.read_lines / truth.read_lines, 1, 0.15);
    EXPECT_NEAR(seen.write_lines / truth.write_lines, 1, 0.15);
  }
  EXPECT_EQ(with_access, both.seen.samples_with_access);
}

// No bias: the mean over many runs closes in on the truth much further than one run's error.
TEST(SamplingCollector, IsRightOnAverage) {
  std::map<memory::ChunkId, std::array<double, 2>> exposure, lines;
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    const Both both(4, 3, {3.1e-6}, 1, seed);
    for (const auto& cell : both.truth.cells) {
      exposure[cell.chunk][0] += cell.exposure;
      lines[cell.chunk][0] += cell.read_lines + cell.write_lines;
    }
    for (const auto& cell : both.seen.cells) {
      exposure[cell.chunk][1] += cell.exposure;
      lines[cell.chunk][1] += cell.read_lines + cell.write_lines;
    }
  }
  for (memory::ChunkId chunk = 0; chunk < 4; ++chunk) {
    EXPECT_NEAR(exposure[chunk][1] / exposure[chunk][0], 1, 0.02) << chunk;
    EXPECT_NEAR(lines[chunk][1] / lines[chunk][0], 1, 0.02) << chunk;
  }
}

// Loops whose length divides the distance between samples: a sampler with a fixed distance would meet one chunk
// only.
TEST(SamplingCollector, DoesNotAliasWithLoops) {
  for (const std::size_t period : {2u, 10u, 16u, 100u}) {
    Program program(2);
    for (memory::ChunkId c = 0; c < 2; ++c) program.chunks[c].place = 0;
    SamplingCollector collector(program.machine, 0, 1, program.chunks, {1e-6});
    collector.begin_iteration(0);
    collector.begin_phase("p");
    std::vector<Miss> misses;  // independent: 10 ns each, 100 of them an interval
    for (std::size_t i = 0; i < 20000; ++i)
      misses.push_back({i % period == 0 ? 0u : 1u, 0, 0, MissKind::independent});
    for (int q = 0; q < 20; ++q) run(collector, misses, 0);
    collector.end_phase({1});
    const auto phase = collector.take_iteration().phases.at(0);
    double lines = 0, exposure = 0;
    for (const auto& cell : phase.cells) {
      lines += cell.read_lines;
      exposure += cell.exposure;
    }
    ASSERT_EQ(phase.cells.at(0).chunk, 0u);
    const double share = 1 / static_cast<double>(period);
    const double error = 4 * std::sqrt(share * (1 - share) / phase.samples);
    EXPECT_NEAR(phase.cells[0].read_lines / lines, share, error) << period;
    EXPECT_NEAR(phase.cells[0].exposure / exposure, share, error) << period;
    EXPECT_NEAR(lines, 400000, 4000);
  }
}

// The example under eq. 1 in the paper, a thousandth as long: 10 ms at 1 GHz, a sample every 1,000 cycles, 1 % of
// the samples meet the object: it is accessed for 0.1 ms.
TEST(SamplingCollector, GivesEquationOneItsShareOfTime) {
  Program program(1);
  const auto interval = default_sample_interval(program.machine, 0);
  EXPECT_NEAR(interval.value, 1e-6, 1e-18);
  SamplingCollector collector(program.machine, 0, 1, program.chunks, interval);
  collector.begin_iteration(0);
  collector.begin_phase("p");
  for (int q = 0; q < 100; ++q)  // 99 us of core, 1 us of exposed latency each
    run(collector, std::vector<Miss>(10, {0, 0, 255, MissKind::dependent}), 99000);
  collector.end_phase({10e-3});
  const auto phase = collector.take_iteration().phases.at(0);
  EXPECT_NEAR(phase.samples, 1e4, 1);
  ASSERT_EQ(phase.cells.size(), 1u);
  const double seconds = phase.cells[0].samples / phase.samples * phase.time.value;
  EXPECT_NEAR(seconds, 0.1e-3, 4 * std::sqrt(100) / 1e4 * 10e-3);
}

TEST(SamplingCollector, CountsEveryMissWhileMissesAreRare) {
  Program program(3);
  SamplingCollector collector(program.machine, 0, 1, program.chunks, {1e-6});
  collector.begin_iteration(0);
  collector.begin_phase("p");
  double truth = 0;
  for (int q = 0; q < 50; ++q) {
    const auto misses = program.misses(5);  // many samples a miss
    truth += static_cast<double>(misses.size());
    run(collector, misses, 50000);
  }
  collector.end_phase({1});
  const auto phase = collector.take_iteration().phases.at(0);
  double seen = 0;
  for (const auto& cell : phase.cells) seen += cell.read_lines + cell.write_lines;
  EXPECT_EQ(seen, truth);
}

TEST(SamplingCollector, AThreadThatStandsForManyCoresMakesAsMuchLessProgress) {
  const Both one(6, 64, {1e-6}, 1);
  const Both sixteen(6, 64, {1e-6}, 16);
  EXPECT_NEAR(one.seen.samples / sixteen.seen.samples, 16, 0.1);
  EXPECT_NEAR(one.truth.core / sixteen.truth.core, 16, 1e-9);
}

TEST(SamplingCollector, IsTheSameToTheLastDigitEveryTime) {
  const Both once(8, 20, {1e-6}), again(8, 20, {1e-6});
  ASSERT_EQ(once.seen.cells.size(), again.seen.cells.size());
  EXPECT_EQ(once.seen.core, again.seen.core);
  for (std::size_t i = 0; i < once.seen.cells.size(); ++i) {
    EXPECT_EQ(once.seen.cells[i].exposure, again.seen.cells[i].exposure);
    EXPECT_EQ(once.seen.cells[i].read_lines, again.seen.cells[i].read_lines);
  }
}

TEST(SamplingCollector, RefusesAnIntervalThatIsNone) {
  Program program(1);
  EXPECT_THROW(SamplingCollector(program.machine, 0, 1, program.chunks, {0}), Error);
  EXPECT_THROW(SamplingCollector(program.machine, 0, 0, program.chunks, {1}), Error);
  EXPECT_THROW(SamplingCollector(program.machine, 4, 1, program.chunks, {1}), Error);
}

}  // namespace
}  // namespace terrace::profile
