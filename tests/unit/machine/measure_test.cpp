// Tests measuring: every path gets figures with their repetitions, and the result round-trips. No test expects
// times; they check laws that hold on any machine.
#include "machine/measure/measure.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "machine/discover/system_files.hpp"
#include "machine/measure/fits.hpp"
#include "machine/measure/measured_rounds.hpp"

namespace terrace::machine {
namespace {

TEST(SpreadOf, Spread_IsMedianAndRange) {
  EXPECT_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_EQ(spread_of({3, 1, 2}).spread, 2);
  EXPECT_EQ(spread_of({4, 1, 2, 9}).median, 3);
  EXPECT_EQ(spread_of({5}).spread, 0);
}

// Models the costs that chases measure for a TLB, with the disturbances of a shared machine.
std::vector<PagesCost> costs_with(const std::function<double(double pages)>& walks, double walk, double noise,
                                  unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> disturbed(-noise, noise);
  std::vector<PagesCost> costs;
  for (std::uint32_t step = 8; step <= 8192; step *= 2)
    for (std::uint32_t pages = 4 * step; pages < 8 * step; pages += step)
      costs.push_back({pages, walk * walks(pages) + disturbed(random)});
  return costs;
}

TEST(TlbReach, LruAndRandomReplacement_GiveEntries) {
  unsigned seed = 0;
  for (const std::uint32_t entries : {64U, 256U, 1024U, 1536U, 2048U, 4096U}) {
    // In a cycle of more pages than entries, LRU never hits. With random replacement a page loaded n hops ago hits
    // if no walk since has replaced it: a share h = exp(-(1 - h) n / entries).
    const auto lru = [&](double pages) { return pages <= entries ? 0.0 : 1.0; };
    const auto random = [&](double pages) {
      if (pages <= entries) return 0.0;
      double found = 0;
      for (int i = 0; i < 1000; ++i) found = std::exp(-(1 - found) * pages / entries);
      return 1 - found;
    };
    for (const double noise : {0.0, 0.05e-9}) {
      for (const auto& of : {std::function<double(double)>(lru), std::function<double(double)>(random)}) {
        const auto reach = tlb_reach(costs_with(of, 3e-9, noise, ++seed), 0.25e-9);
        EXPECT_EQ(reach.entries, entries) << noise;
        EXPECT_NEAR(reach.walk, 3e-9 * of(2.0 * entries), 1e-15 + 2 * noise) << entries;
      }
    }
  }
}

TEST(TlbReach, TwoLevels_GiveTheOuter) {
  const auto two_levels = [](double pages) { return (pages > 96 ? 0.1 : 0.0) + (pages > 1536 ? 0.9 : 0.0); };
  const auto reach = tlb_reach(costs_with(two_levels, 3e-9, 0, 1), 0.25e-9);
  EXPECT_EQ(reach.entries, 1536U);
  EXPECT_NEAR(reach.walk, 2.7e-9, 1e-15);
}

TEST(TlbReach, ConstantCosts_GiveNone) {
  EXPECT_EQ(tlb_reach(costs_with([](double) { return 0.0; }, 3e-9, 0.05e-9, 1), 0.25e-9).entries, 0U);
  EXPECT_EQ(tlb_reach({}, 0.25e-9).entries, 0U);
}

// Costs of misses of 100 ns, of which as many overlap as a window of 64 accesses holds.
TEST(LeastApart, Distance_IsTheWindow) {
  std::vector<MissDistanceCost> costs;
  for (std::uint32_t distance = 1; distance < 300; ++distance)
    costs.push_back({1.0 * distance, 100e-9 / ((63 + distance) / distance)});
  EXPECT_EQ(min_miss_distance(costs), 64U);
  EXPECT_EQ(min_miss_distance({}), 0U);
  EXPECT_EQ(min_miss_distance(std::vector<MissDistanceCost>{{1, 0}, {2, -1e-9}}), 0U);
}

// Costs at the measured distances, some of them disturbed.
TEST(LeastApart, DisturbedDistances_DoNotMoveTheWindow) {
  for (const int window : {40, 64, 150}) {
    std::vector<MissDistanceCost> costs;
    for (double distance = 10; distance < 1024; distance *= 1.25)
      costs.push_back({distance, 100e-9 / std::max(1.0, window / distance)});
    const auto undisturbed = min_miss_distance(costs);
    EXPECT_NEAR(undisturbed, 0.75 * window, 0.15 * window) << window;
    for (std::size_t i = 1; i + 1 < costs.size(); i += 3) {
      auto disturbed = costs;
      disturbed[i].seconds *= 3;
      disturbed[(i + 7) % costs.size()].seconds *= 0.3;
      EXPECT_NEAR(min_miss_distance(disturbed), undisturbed, 0.3 * undisturbed) << window << " " << i;
    }
  }
}

TEST(StreamsFollowed, CostStep_GivesNumberOfPrefetchedStreams) {
  const auto costs_with = [](std::uint32_t followed, double beyond) {
    std::vector<StreamsCost> costs;
    for (std::uint32_t streams = 4; streams <= 8192; streams *= 2)
      costs.push_back({streams, streams <= followed ? 12e-9 : beyond});
    return costs;
  };
  // Between the last number that is followed and the first that is not, at the geometric mean.
  for (const std::uint32_t followed : {16U, 32U, 1024U})
    EXPECT_NEAR(streams_followed(costs_with(followed, 100e-9)), followed * std::sqrt(2.0), 0.6);
  EXPECT_EQ(streams_followed(costs_with(64, 20e-9)), 0U);  // no step in the costs
  EXPECT_EQ(streams_followed(costs_with(8192, 100e-9)), 0U);
  EXPECT_EQ(streams_followed({}), 0U);
  auto disturbed = costs_with(256, 100e-9);
  disturbed[3].seconds = 60e-9;
  EXPECT_NEAR(streams_followed(disturbed), 256 * std::sqrt(2.0), 0.6);
}

// Returns STREAM's rates on memory where reading and writing a byte take the given seconds, without overlap.
std::map<std::string, double> kernels_of(double read, double written) {
  const double two = 2 / (2 * read + written);
  const double three = 3 / (3 * read + written);
  return {{"copy", two},    {"scale", two},     {"add", three},
          {"triad", three}, {"read", 1 / read}, {"write", 1 / written}};
}

TEST(ReadsAndWrites, Sequential_AreSeparatedByStreamsKernels) {
  for (const auto& [read, written] : {std::pair{1e-10, 1e-10}, std::pair{1e-10, 4e-10}, std::pair{2e-11, 3e-11}}) {
    const auto apart = reads_and_writes(kernels_of(read, written));
    EXPECT_NEAR(apart.read * read, 1, 1e-9);
    EXPECT_NEAR(apart.write * written, 1, 1e-9);
  }
  EXPECT_THROW(reads_and_writes({{"copy", 1e9}}), std::out_of_range);
}

// Rates of two cores whose reads limit STREAM, so that writes are almost free: errors of the kernels are not
// amplified.
TEST(ReadsAndWrites, Overlapping_ChangeNoMoreThanTheKernels) {
  const std::map<std::string, double> measured{{"copy", 44.3e9},  {"scale", 44.1e9}, {"add", 46e9},
                                               {"triad", 46.7e9}, {"read", 41.4e9},  {"write", 47.5e9}};
  const auto truth = reads_and_writes(measured);
  EXPECT_GT(truth.read, measured.at("read"));
  EXPECT_LT(truth.write, 2 * truth.read);
  for (const auto& [name, time] :
       {std::pair{"copy", 2 / truth.read + 1 / truth.write}, std::pair{"add", 3 / truth.read + 1 / truth.write}})
    EXPECT_NEAR(time * measured.at(name), name == std::string("copy") ? 2 : 3, 0.3) << name;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> lower(0.95, 1);
  for (int i = 0; i < 1000; ++i) {
    auto disturbed = measured;
    for (auto& [name, rate] : disturbed) rate *= lower(random);
    const auto rates = reads_and_writes(disturbed);
    EXPECT_NEAR(rates.read / truth.read, 1, 0.08);
    EXPECT_NEAR(rates.write / truth.write, 1, 0.1);
  }
}

TEST(Measure, MeasuredMachine_HasAllPathsAndRoundTrips) {
  const auto here = discover_details();
  std::vector<double> progress;
  std::vector<std::string> steps;
  const auto file =
      measure_machine(here, {.quick = true, .repetitions = 1}, [&](double done, std::string_view what) {
        progress.push_back(done);
        steps.emplace_back(what);
      });
  const auto& machine = file.machine;
  const auto& measured = *file.measured;

  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.front(), 0);
  EXPECT_EQ(progress.back(), 1);
  EXPECT_LT(progress[progress.size() - 2], 1);
  EXPECT_GE(steps.size(), 4u);

  EXPECT_EQ(machine.parts().fingerprint, fingerprint(here));
  EXPECT_NO_THROW(check_fingerprint(machine, here));
  EXPECT_EQ(measured.date.size(), 20u);
  EXPECT_EQ(measured.repetitions, 1u);

  // The nearest place of the first domain: all six kernels with one thread, both page sizes, and a measured path.
  const auto initiator = machine.domains()[0].initiator;
  const auto place = here.machine.domains()[0].places.front();
  for (const char* kernel : {"copy", "scale", "add", "triad", "read", "write"}) {
    const auto rows = std::count_if(measured.bandwidths.begin(), measured.bandwidths.end(), [&](const auto& row) {
      return row.initiator == initiator && row.place == place && row.kernel == kernel && row.threads == 1 &&
             row.bytes_per_second.median > 0;
    });
    EXPECT_EQ(rows, 1) << kernel;
  }
  // With the page size that programs get by default.
  const auto setting = SystemFiles().choice("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string ordinary = setting == "always" ? "huge" : "small";
  const auto latency = std::find_if(measured.latencies.begin(), measured.latencies.end(),
                                    [&](const auto& row) { return row.place == place && row.pages == ordinary; });
  ASSERT_NE(latency, measured.latencies.end());
  EXPECT_EQ(machine.path(initiator, place).latency.value, latency->seconds.best);
  // While other cores read at increasing rates; none if there is no other core.
  const auto loaded = std::count_if(measured.latencies.begin(), measured.latencies.end(), [&](const auto& row) {
    return row.initiator == initiator && row.place == place && row.load > 0 && row.seconds.median > 0;
  });
  EXPECT_EQ(loaded, machine.initiators()[initiator].cores > 1 ? 5 : 0);

  // A miss cannot be cheaper than a hit in the first cache.
  const auto& core = machine.initiators()[initiator];
  if (!core.caches.empty()) {
    EXPECT_GT(machine.path(initiator, place).latency, core.caches.front().latency);
  }
  EXPECT_GE(core.mlp, 1);
  for (const auto time : core.library) EXPECT_GT(time.value, 0);
  EXPECT_GE(core.prefetch_mlp, 1);
  EXPECT_GE(core.window, 10);  // the least distance that is measured
  EXPECT_LE(core.window, 1024);

  // If a TLB is found, its page size is the system's default.
  if (core.tlb.entries > 0) {
    EXPECT_EQ(ordinary, "small");
    EXPECT_EQ(core.tlb.page.value, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    EXPECT_GT(core.tlb.walk.value, 0);
  }

  const auto text = format_machine_file(machine, &measured);
  const auto again = parse_machine_file(text, "again");
  EXPECT_EQ(format_machine_file(again.machine, &*again.measured), text);
}

TEST(Measure, UnmeasurableNearestPlace_Throws) {
  auto here = discover_details();
  here.last_level.assign(here.last_level.size(), Bytes{1ull << 60});  // larger than any memory
  try {
    measure_machine(here, {.quick = true, .repetitions = 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::failed);
    EXPECT_NE(std::string(error.what()).find("too little to measure memory and not caches"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace terrace::machine
