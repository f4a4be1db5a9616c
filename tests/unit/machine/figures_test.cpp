// Tests estimates from windows, and the laws of physics, on synthetic series whose truth is known, with and
// without disturbances.
#include "machine/measure/figures.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine/measure/physics.hpp"

namespace terrace::machine {
namespace {

// Returns windows of a figure of 100 ns that varies by 1 %; other load lengthens some.
std::vector<Window> windows_with(double disturbed_share, double up_to, bool noticed, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::vector<Window> windows;
  for (std::size_t round = 1; round <= 5; ++round)
    for (int i = 0; i < 6; ++i) {
      const bool disturbed = share(random) < disturbed_share;
      const double longer = disturbed ? 1 + (up_to - 1) * share(random) : 1;
      windows.push_back({100e-9 * (1 + 0.01 * share(random)) * longer, !(disturbed && noticed), round});
    }
  return windows;
}

TEST(SpreadOfWindows, DisturbedSeries_BestStaysTrue) {
  for (unsigned seed = 0; seed < 50; ++seed)
    for (const bool noticed : {false, true}) {
      const auto spread = spread_of_windows(windows_with(0.6, 4, noticed, seed));
      EXPECT_NEAR(spread.best, 100e-9, 2e-9) << seed;
      if (noticed) {
        EXPECT_LE(spread.spread, 1e-9 + 1e-15) << seed;
      }
    }
}

TEST(SpreadOfWindows, PreemptedWindows_CountOnlyWhereTooFewAreClean) {
  const std::vector<Window> mostly{{3, true, 1}, {4, true, 1}, {5, true, 2}, {1, false, 2}};
  EXPECT_EQ(spread_of_windows(mostly).best, 3);
  EXPECT_EQ(spread_of_windows(mostly).median, 4);
  EXPECT_EQ(spread_of_windows(mostly).spread, 2);
  const std::vector<Window> rarely{{3, true, 1}, {1, false, 1}, {2, false, 2}, {2.5, false, 2}};
  EXPECT_EQ(spread_of_windows(rarely).best, 1);
  EXPECT_EQ(spread_of_windows(rarely).spread, 2);
}

TEST(RatesOfWindows, Best_IsHighestRate) {
  const std::vector<Window> windows{{2, true, 1}, {1, true, 1}, {4, true, 2}};
  const auto rates = rates_of_windows(windows, 8);
  EXPECT_EQ(rates.best, 8);
  EXPECT_EQ(rates.median, 4);
  EXPECT_EQ(rates.spread, 6);
}

TEST(RatesOfWindows, FewWindowsFarFasterThanTheRest_AreNotTheBest) {
  std::vector<Window> windows;
  for (int i = 0; i < 200; ++i) windows.push_back({i % 100 == 7 ? 0.7 : 1 + 0.001 * (i % 50), true, 1U + i / 100});
  EXPECT_NEAR(rates_of_windows(windows, 1).best, 1, 0.01);
  EXPECT_NEAR(spread_of_windows(windows).best, 1, 0.01);
  EXPECT_TRUE(is_confirmed(windows, 0.05));
}

TEST(IsConfirmed, BestOfSingleRoundOrWindow_IsNotConfirmed) {
  EXPECT_TRUE(is_confirmed(windows_with(0.3, 3, false, 1), 0.05));
  EXPECT_FALSE(is_confirmed({}, 0.05));
  EXPECT_FALSE(is_confirmed(std::vector<Window>{{1, true, 1}, {1, true, 1}, {1, true, 1}}, 0.05));
  EXPECT_TRUE(is_confirmed(std::vector<Window>{{1, true, 1}, {1, true, 1}, {1.04, true, 2}}, 0.05));
  const std::vector<Window> lonely{{0.5, true, 1}, {1, true, 1}, {1, true, 2}, {1, true, 3}};
  EXPECT_FALSE(is_confirmed(lonely, 0.15));
}

TEST(IsConfirmed, DisturbedWindows_NeitherConfirmNorRefute) {
  std::vector<Window> windows{{1, true, 1}, {1, true, 2}, {1, false, 2}, {1, false, 3}};
  EXPECT_FALSE(is_confirmed(windows, 0.15));
  windows.push_back({1, true, 3});
  EXPECT_TRUE(is_confirmed(windows, 0.15));
  for (std::size_t round = 1; round <= 9; ++round) windows.push_back({4, false, round});
  EXPECT_TRUE(is_confirmed(windows, 0.15));
}

// Models memory of a virtual machine that is local in some rounds and remote in others, without interruptions.
TEST(IsConfirmed, TwoStates_OnlyWhereTheBestIsNoRareOne) {
  const auto windows_of = [](std::size_t near_rounds, std::size_t rounds) {
    std::vector<Window> windows;
    for (std::size_t round = 1; round <= rounds; ++round)
      for (int i = 0; i < 5; ++i) windows.push_back({round <= near_rounds ? 125e-9 : 155e-9, true, round});
    return windows;
  };
  EXPECT_TRUE(is_confirmed(windows_of(8, 8), 0.05));
  EXPECT_TRUE(is_confirmed(windows_of(4, 8), 0.05));
  EXPECT_TRUE(is_confirmed(windows_of(2, 8), 0.05));
  EXPECT_FALSE(is_confirmed(windows_of(2, 9), 0.05));
  EXPECT_FALSE(is_confirmed(windows_of(2, 9), 0.15));
}

TEST(Figures, LaterRounds_MeasureWhatIsNamedOrNew) {
  Figures figures;
  int steady = 0, wild = 0, late = 0;
  const auto round = [&](const std::optional<std::set<std::string>>& only) {
    figures.begin_round(only);
    figures.sample("steady", [&] {
      ++steady;
      return std::vector<Window>{{1, true}, {1, true}};
    });
    if (only)
      figures.sample("late", [&] {
        ++late;
        return std::vector<Window>{{1, false}};
      });
    return figures.sample("wild", [&] {
      ++wild;
      return std::vector<Window>{{10.0 / wild, true}, {30, false}};
    });
  };
  round({});
  round({});
  EXPECT_EQ(figures.unconfirmed(0.05), std::vector<std::string>{"wild"});
  EXPECT_EQ(round({{"wild"}}).best, 10.0 / 3);
  round({{"wild"}});
  EXPECT_EQ(steady, 2);
  EXPECT_EQ(wild, 4);
  EXPECT_EQ(late, 1);
  EXPECT_NEAR(figures.interrupted_share(), 5.0 / 13, 1e-12);
}

TEST(Figures, WindowsApart_AreCounted) {
  Figures figures;
  EXPECT_EQ(figures.interrupted_share(), 0);
  figures.begin_round();
  figures.sample("read", [] {
    return std::vector<Window>{{1, true}, {1, true}, {1, false}, {0.5, false, 0, true}};
  });
  EXPECT_EQ(figures.interrupted_share(), 0.25);
  EXPECT_EQ(figures.count_without_shared_cache(), 1u);
}

TEST(Figures, TimeIsUp_OnlyFiguresWithoutWindowsAreMeasured) {
  Figures figures;
  int measured = 0;
  const auto sample = [&] {
    ++measured;
    return std::vector<Window>{{1, true}};
  };
  figures.begin_round();
  figures.sample("a", sample);
  figures.set_measure_predicate([] { return false; });
  figures.begin_round();
  figures.sample("a", sample);
  EXPECT_EQ(measured, 1);
  figures.sample("b", sample);
  EXPECT_EQ(measured, 2);
  figures.set_measure_predicate([]() -> bool { throw std::runtime_error("the time was up"); });
  EXPECT_THROW(figures.sample("c", sample), std::runtime_error);
  EXPECT_EQ(measured, 2);
}

// A measured machine: a core of 2.5 GHz, three caches, one memory.
struct MeasuredMachine {
  MachineParts parts;
  Measurement measured;

  MeasuredMachine() {
    parts.name = "measured";
    Initiator core;
    core.name = "cores0";
    core.cores = 2;
    core.instruction_time = {0.1e-9};
    core.mlp = 10;
    core.caches = {{"l1", {32 << 10}, 8, false, {1.6e-9}},
                   {"l2", {512 << 10}, 8, false, {5e-9}, {0.5e-9}},
                   {"l3", {32 << 20}, 16, true, {18e-9}, {2e-9}}};
    parts.initiators = {core};
    Place place;
    place.name = "ddr0";
    parts.places = {place};
    Path path{0, 0, {20e9}, {15e9}, {100e-9}};
    path.bandwidth_source = path.latency_source = Source::measured;
    parts.paths = {path};
    measured.times = {{0, "cycle", {0.41e-9, 0, 0.4e-9}}};
    measured.bandwidths = {{0, 0, 1, "read", {10e9, 0, 12e9}}, {0, 0, 2, "read", {18e9, 0, 20e9}}};
  }
  [[nodiscard]] std::string broken() const {
    const auto laws = broken_laws(parts, measured);
    EXPECT_LE(laws.size(), 1u);
    return laws.empty() ? "" : laws.front();
  }
};

TEST(BrokenLaws, UndisturbedMachine_BreaksNone) { EXPECT_EQ(MeasuredMachine().broken(), ""); }

TEST(BrokenLaws, EachLaw_IsNamedWhereItIsBroken) {
  const auto broken = [](const auto& disturb) {
    MeasuredMachine machine;
    disturb(machine);
    return machine.broken();
  };
  // Instructions of 2.28 ns at 2.5 GHz; additions that were interrupted, or optimised away.
  EXPECT_EQ(broken([](auto& m) { m.parts.initiators[0].instruction_time = {2.28e-9}; }),
            "cores0: an instruction took 2.28ns where a cycle takes 400ps; it takes 0.1 to 2 cycles");
  EXPECT_NE(broken([](auto& m) {
              m.measured.times[0].seconds.best = 3e-9;
              m.parts.initiators[0].instruction_time = {1e-9};
            }).find("a cycle takes 0.1 to 2 ns"),
            std::string::npos);
  EXPECT_NE(broken([](auto& m) { m.parts.initiators[0].frequency_hz = 6e9; }).find("of the stated frequency"),
            std::string::npos);
  EXPECT_EQ(broken([](auto& m) { m.parts.initiators[0].frequency_hz = 2.4e9; }), "");
  // An L3 slower than DRAM, an L2 slower than L3, for dependent and independent accesses.
  EXPECT_EQ(broken([](auto& m) { m.parts.initiators[0].caches[2].latency = {130e-9}; }),
            "cores0: ddr0 took 100ns, a hit in l3 130ns");
  EXPECT_EQ(broken([](auto& m) { m.parts.initiators[0].caches[1].latency = {20e-9}; }),
            "cores0: a hit in l3 took 18ns, one in l2 inside of it 20ns");
  EXPECT_NE(
      broken([](auto& m) { m.parts.initiators[0].caches[1].overlapped = {3e-9}; }).find("side by side in l3"),
      std::string::npos);
  EXPECT_NE(
      broken([](auto& m) { m.parts.initiators[0].caches[2].overlapped = {11e-9}; }).find("to ddr0 took 10ns"),
      std::string::npos);
  // Writes at 80 GB/s with reads at 10.
  EXPECT_NE(broken([](auto& m) {
              m.measured.bandwidths.push_back({0, 0, 2, "write", {40e9, 0, 80e9}});
            }).find("was written at 80GB/s and read at 20GB/s"),
            std::string::npos);
  EXPECT_NE(broken([](auto& m) { m.parts.paths[0].write = {-5e9}; }).find("STREAM's kernels on ddr0 contradict"),
            std::string::npos);
  EXPECT_EQ(broken([](auto& m) { m.parts.paths[0].write = {80e9}; }), "");  // writes overlap with reads
  EXPECT_NE(broken([](auto& m) {
              m.measured.bandwidths[1].bytes_per_second.best = 9e9;
            }).find("2 threads read ddr0 at 9GB/s, one thread at 12GB/s"),
            std::string::npos);
}

TEST(BrokenLaws, DiscoveredFigures_AreNotJudged) {
  MeasuredMachine machine;
  machine.parts.paths[0].bandwidth_source = machine.parts.paths[0].latency_source = Source::kind;
  machine.parts.paths[0].write = {-5e9};
  machine.parts.paths[0].latency = {1e-9};
  EXPECT_EQ(machine.broken(), "");
}

}  // namespace
}  // namespace terrace::machine
