// Compares the exact counters with counts by hand, and tests when collectors count.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "collected_program.hpp"
#include "observe/collecting/exact_collector.hpp"

namespace terrace::observe {
namespace {

TEST(ExactCollector, KnownProgram_CountsAreExact) {
  Program program(7);
  ExactCollector collector(program.machine, 0, 2, program.chunks);
  collector.begin_iteration(3);
  std::map<ChunkId, Cell> truth;
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
        if (miss.kind == MissKind::prefetched) {
          cell.exposure += 1.0 / 20 / 2;
          cell.streamed_lines += 1;
          cell.streamed_exposure += 1.0 / 20 / 2;
        }
        if (miss.kind == MissKind::independent) cell.exposure += 1.0 / 10 / 2;
        cell.exposure += miss.weight / 255.0 / 2;
      }
    }
    collector.end_phase({0.25});
    // The phases differ, so that counts left over from the first would show in the second.
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
        EXPECT_EQ(cell.streamed_lines, truth[cell.chunk].streamed_lines);
        EXPECT_NEAR(cell.streamed_exposure, truth[cell.chunk].streamed_exposure, 1e-9);
      }
    }
  }
}

// Core time alone: 3 calls at the machine's own time, 50 at the usual cycles at its 1 GHz, shared by two cores.
TEST(ExactCollector, LibmCalls_AddCoreTime) {
  using machine::LibraryFunction;
  Program program(1);
  auto parts = program.machine.parts();
  const auto number = [](LibraryFunction function) { return static_cast<std::uint32_t>(function); };
  parts.initiators[0].library[number(LibraryFunction::exp)] = {40e-9};
  ExactCollector collector(machine::Machine(parts), 0, 2, program.chunks);
  const std::array<observe::LibraryCalls, 2> calls{
      {{number(LibraryFunction::exp), 3}, {number(LibraryFunction::powf), 50}}};
  collector.begin_iteration(0);
  collector.begin_phase("calls");
  collector.quantum({0, 0, 0, {}, {}, calls});
  collector.end_phase({1});
  const double cycles = machine::k_library[number(LibraryFunction::powf)].cycles;
  EXPECT_EQ(machine::k_library[number(LibraryFunction::powf)].name, "powf");
  EXPECT_NEAR(collector.take_iteration().phases[0].core.value, (3 * 40e-9 + 50 * cycles * 1e-9) / 2, 1e-18);
}

// 7 walks, shared by two cores, in addition to 100 instructions and 20 hits at latency / mlp; without a TLB,
// none.
TEST(ExactCollector, PageWalks_AddCoreTime) {
  Program program(1);
  auto parts = program.machine.parts();
  for (const double walk : {3e-9, 0.0}) {
    parts.initiators[0].tlb = {walk > 0 ? 64U : 0U, 4, {4096}, {walk}};
    ExactCollector collector(machine::Machine(parts), 0, 2, program.chunks);
    collector.begin_iteration(0);
    collector.begin_phase("walks");
    observe::Quantum quantum{0, 100, 100, {80, 20, 0, 0}, {}};
    quantum.walks = 7;
    collector.quantum(quantum);
    collector.end_phase({1});
    EXPECT_NEAR(collector.take_iteration().phases[0].core.value, (100 * 1e-9 + 20 * 1e-9 + 7 * walk) / 2, 1e-18);
  }
}

// Concurrent threads: the phase cannot have been shorter than their mean, whichever threads
// ran in each of its segments.
TEST(ExactCollector, SeveralThreads_CoreTimeAndExposureDivided) {
  Program program(9);
  ExactCollector collector(program.machine, 0, 1, program.chunks);
  collector.begin_iteration(0);
  std::vector<Miss> waits(100, Miss{0, 0, 255, MissKind::dependent});
  const auto phase = [&](std::string_view name, std::initializer_list<std::uint32_t> threads) {
    collector.begin_phase(name);
    for (const auto thread : threads) collector.quantum({thread, 5000, 5000, {5000}, waits});
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
  collector.begin_iteration(1);  // forgets the previous thread
  phase("parallel", {1});
  EXPECT_NEAR(collector.take_iteration().phases[0].cells.at(0).exposure, 100, 1e-9);
  collector.begin_iteration(2);
  waits.assign(60, Miss{0, 0, 0, MissKind::prefetched});  // 20 at a time
  phase("parallel", {0, 1});
  const auto cell = collector.take_iteration().phases[0].cells.at(0);
  EXPECT_NEAR(cell.exposure, 3, 1e-9);
  EXPECT_EQ(cell.streamed_lines, 120);
  EXPECT_NEAR(cell.streamed_exposure, 3, 1e-9);
}

TEST(ExactCollector, DifferentPlacement_SameCells) {
  const auto with = [](PlaceId place) {
    Program program(5);
    for (ChunkId c = 0; c < 5; ++c) program.chunks[c].place = place;
    ExactCollector collector(program.machine, 0, 1, program.chunks);
    collector.begin_iteration(0);
    collector.begin_phase("p");
    run(collector, program.misses(5000), 9000);
    collector.end_phase({1});
    return collector.take_iteration().phases.at(0);
  };
  const auto fast = with(0), slow = with(1), nowhere = with(k_no_place);
  EXPECT_EQ(fast.core, slow.core);
  EXPECT_NEAR(slow.bandwidth_time / fast.bandwidth_time, 4, 1e-9);
  EXPECT_EQ(nowhere.bandwidth_time, slow.bandwidth_time) << "data that was not settled lies at home";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(fast.cells[i].read_lines, slow.cells[i].read_lines);
    EXPECT_EQ(fast.cells[i].exposure, slow.cells[i].exposure);
  }
}

TEST(ExactCollector, UnownedMemory_CountsAsCoreTime) {
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

TEST(Collector, OutsideOfPhaseOrInactive_CountsNothing) {
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

}  // namespace
}  // namespace terrace::observe
