// Tests the planners of published systems on cases computed by hand, and the greedy placement of whole objects on
// random ones.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "../model/random_problem.hpp"
#include "strategy/planner.hpp"
#include "strategy/search/whole_objects.hpp"
#include "strategy/tiering/interleave.hpp"
#include "two_places.hpp"

namespace terrace::strategy {
namespace {

// Fast memory of 1 MiB with 16 GB/s and 86 ns beside 8 GB/s and 344 ns.
model::Problem two_kinds() {
  model::Problem problem;
  problem.places = {{"fast", "dram", 0, Bytes{1 << 20}, 16e9, 16e9, 86e-9},
                    {"slow", "nvm", 0, Bytes{1ULL << 30}, 8e9, 8e9, 344e-9}};
  problem.homes = {k_slow};
  problem.fastest_first = {{k_fast, k_slow}};
  problem.copy = {{0, 8e9}, {8e9, 0}};
  return problem;
}

void add_object(model::Problem& problem, const std::string& name, std::uint32_t chunks, std::uint64_t chunk) {
  const auto object = static_cast<std::uint32_t>(problem.objects.size());
  problem.objects.push_back({name, Bytes{chunks * chunk}, chunks});
  for (std::uint32_t c = 0; c < chunks; ++c) {
    problem.items.push_back({Bytes{chunk}, 0, object, c});
    problem.measured_at.push_back(k_slow);
  }
}

model::Placement places_by(std::string_view planner, const model::Problem& problem) {
  const auto decision = find_planner(planner).decide(problem, {}, Effort::thorough);
  for (const auto& phase : decision.schedule.phases) EXPECT_EQ(phase, decision.schedule.phases.front());
  return decision.schedule.phases.front();
}

// Three objects of 1 MiB, of which one fits. In the first phase one is streamed, 64 MB whose latencies are hidden;
// in the second one is pointer-chased (6.4 MB, 100,000 latencies) beside a third object's 12.8 MB.
model::Problem three_patterns() {
  auto problem = two_kinds();
  add_object(problem, "streamed", 2, 1 << 19);
  add_object(problem, "chased", 2, 1 << 19);
  add_object(problem, "bystander", 2, 1 << 19);
  model::ProblemPhase first, second;
  first.cells = {{0, 32e6, 0, 500, 1}, {1, 32e6, 0, 500, 1}};
  second.cells = {{2, 3.2e6, 0, 50'000, 1}, {3, 3.2e6, 0, 50'000, 1}, {4, 6.4e6, 0, 50, 1}, {5, 6.4e6, 0, 50, 1}};
  problem.phases = {first, second};
  return problem;
}

// X-Mem ranks by the gain of a structure's accesses: streamed 4 ms of bandwidth, chased 25.8 ms of latency.
TEST(BaselinePlanners, XMem_ObjectsOfEqualSize_PromotesMostExposedLatency) {
  EXPECT_EQ(places_by("xmem", three_patterns()), (model::Placement{1, 1, 0, 0, 1, 1}));
}

// ecoHMEM ranks by misses per byte: 64 MB against 12.8 and 6.4.
TEST(BaselinePlanners, EcoHmem_ObjectsOfEqualSize_PromotesMostMisses) {
  EXPECT_EQ(places_by("ecohmem", three_patterns()), (model::Placement{0, 0, 1, 1, 1, 1}));
}

// SOAR weights misses by the phase in which they occur: the third object has two thirds of those of the phase that
// exposes its latencies.
TEST(BaselinePlanners, Soar_PhasesDiffer_WeightsMissesByPhaseLatency) {
  EXPECT_EQ(places_by("soar", three_patterns()), (model::Placement{1, 1, 1, 1, 0, 0}));
}

TEST(BaselinePlanners, EcoHmem_SlowWrites_WeightsStoresByWriteCost) {
  auto problem = two_kinds();
  add_object(problem, "read", 1, 1 << 20);
  add_object(problem, "written", 1, 1 << 20);
  model::ProblemPhase phase;
  phase.cells = {{0, 3e6, 0, 0, 1}, {1, 0, 2e6, 0, 1}};
  problem.phases = {phase};
  EXPECT_EQ(places_by("ecohmem", problem), (model::Placement{0, 1}));
  problem.places[k_slow].write_bandwidth = 4e9;  // a store costs two loads
  EXPECT_EQ(places_by("ecohmem", problem), (model::Placement{1, 0}));
}

// Objects of 256 KiB with worth 8 and 4, and one of 1 MiB with worth 20, in 1 MiB: the small ones are denser, the
// large one does not fit after them, another small one does.
TEST(BaselinePlanners, WholeObjects_LimitedCapacity_PlacedByDensityUnsplit) {
  auto problem = two_kinds();
  add_object(problem, "large", 4, 1 << 18);
  add_object(problem, "dense", 1, 1 << 18);
  add_object(problem, "small", 1, 1 << 18);
  add_object(problem, "idle", 1, 1 << 18);
  EXPECT_EQ(place_whole_objects(problem, {4, 4, 4, 4, 8, 3, 0}), (model::Placement{1, 1, 1, 1, 0, 0, 1}));
}

// On random problems, no object is split, and no object with worth stays at home while a faster place has space
// for all of it.
TEST(BaselinePlanners, Greedy_DenseObjectDoesNotFit_LeavesCapacityUnused) {
  std::mt19937 random(3);
  for (int n = 0; n < 300; ++n) {
    const auto problem = model::testing::random_problem(random, {.kinds = 3, .domains = 2, .objects = 7});
    std::vector<double> worth;
    for (std::size_t i = 0; i < problem.items.size(); ++i)
      worth.push_back(random() % 4 == 0 ? 0 : model::testing::uniform(random, 0, 1));
    const auto placement = place_whole_objects(problem, worth);
    std::map<std::uint32_t, std::set<PlaceId>> places;
    std::map<std::uint32_t, Bytes> size;
    std::map<std::uint32_t, double> value;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const auto& item = problem.items[i];
      places[item.object].insert(placement[i]);
      size[item.object] += item.size;
      value[item.object] += worth[i];
    }
    for (const auto& [object, where] : places) {
      ASSERT_EQ(where.size(), 1U);
      const auto domain = problem.places[*where.begin()].domain;
      if (*where.begin() != problem.homes[domain] || value[object] == 0) continue;
      for (std::size_t p = 0; p < problem.places.size(); ++p) {
        const auto place = static_cast<PlaceId>(p);
        if (problem.places[p].domain != domain || place == problem.homes[domain]) continue;
        ASSERT_GT(model::bytes_on(problem, placement, place) + size[object], problem.places[p].budget) << n;
      }
    }
  }
}

TEST(BaselinePlanners, Interleave_FastPlaceFull_ContinuesAtHome) {
  auto problem = two_kinds();
  add_object(problem, "a", 5, 1 << 18);
  add_object(problem, "b", 7, 1 << 18);
  problem.phases.resize(1);
  EXPECT_EQ(places_by("interleave", problem), (model::Placement{0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1}));
}

// A bandwidth ratio of 2:1 gives the weights 21:10 of 32, without a common divisor, as in the kernel.
TEST(BaselinePlanners, WeightedInterleave_BandwidthsDiffer_FollowsTheirRatio) {
  auto problem = two_kinds();
  problem.places[k_fast].budget = Bytes{1ULL << 30};
  add_object(problem, "a", 62, 1 << 18);
  problem.phases.resize(1);
  const auto placement = places_by("weighted-interleave", problem);
  for (std::size_t i = 0; i < placement.size(); ++i) EXPECT_EQ(placement[i], i % 31 < 21 ? k_fast : k_slow) << i;
}

TEST(BaselinePlanners, InterleaveWeights_PublishedCases_EqualTheKernels) {
  using Weights = std::vector<std::uint32_t>;
  const auto weights = [](std::vector<double> bandwidths) { return interleave_weights(bandwidths); };
  EXPECT_EQ(weights({16e9, 16e9}), (Weights{1, 1}));
  EXPECT_EQ(weights({300e9, 100e9}), (Weights{3, 1}));
  EXPECT_EQ(weights({200e9, 80e9}), (Weights{22, 9}));
  EXPECT_EQ(weights({500e9, 1e9}), (Weights{31, 1}));
  EXPECT_EQ(weights({4e9, 2e9, 2e9}), (Weights{2, 1, 1}));
}

}  // namespace
}  // namespace terrace::strategy
