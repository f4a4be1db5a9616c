// Tests of make_problem().
#include "model/problem.hpp"

#include <gtest/gtest.h>

#include "../machine/example.hpp"
#include "core/error.hpp"

namespace terrace::model {
namespace {

constexpr PlaceId k_hbm = 0, k_ddr = 1, k_cxl = 2;

machine::Machine example() { return machine::Machine(machine::example_parts()); }

// Two objects of three and two chunks in domain 0's ddr, one in domain 1; one phase.
profile::Profile profile_of(const std::vector<std::vector<observe::Cell>>& iterations, double time) {
  profile::Profile profile;
  profile.loop = "main";
  profile.exact = true;
  const auto object = [](std::uint32_t id, const char* name, std::uint64_t size, std::uint32_t first,
                         std::uint32_t n) {
    observe::Object made;
    made.id = id;
    made.name = name;
    made.size = Bytes{size};
    made.chunk_size = Bytes{4096};
    made.first_chunk = first;
    made.chunks = n;
    return made;
  };
  profile.objects = {object(0, "a", 3 * 4096 - 100, 0, 3), object(1, "b", 2 * 4096, 3, 2),
                     object(2, "c", 4096, 5, 1)};
  profile.places = {k_ddr, k_ddr, k_ddr, k_ddr, k_ddr, 4};
  for (const auto& cells : iterations) {
    observe::Iteration iteration;
    observe::Phase phase;
    phase.name = "sweep";
    phase.time = Seconds{time};
    phase.core = Seconds{1e-6};
    phase.cells = cells;
    iteration.phases = {phase};
    profile.iterations.push_back(iteration);
  }
  return profile;
}

TEST(MakeProblem, Profile_GivesItemsPlacesAndBudgets) {
  const auto machine = example();
  const auto problem =
      make_problem(profile_of({{{1, 10, 4, 2.5, 3}}}, 1), machine, machine::parse_budget(machine, "hbm=1GiB"));
  ASSERT_EQ(problem.items.size(), 6U);
  EXPECT_EQ(problem.items[2].size, Bytes{4096 - 100});
  EXPECT_EQ(problem.items[1].ordinal, 1U);
  EXPECT_EQ(problem.items[5].domain, 1);
  EXPECT_EQ(problem.places[k_hbm].budget, Bytes{1ULL << 30});
  EXPECT_EQ(problem.places[k_cxl].budget, Bytes{128ULL << 30});
  EXPECT_EQ(problem.homes, (std::vector<PlaceId>{k_cxl, 4}));
  EXPECT_EQ(problem.copy[k_hbm][4], 0);  // chunks stay in their domain
  ASSERT_EQ(problem.phases[0].cells.size(), 1U);
  const auto& cell = problem.phases[0].cells[0];
  EXPECT_EQ(cell.item, 1U);
  EXPECT_DOUBLE_EQ(cell.read_bytes, 640);
  EXPECT_DOUBLE_EQ(cell.write_bytes, 256);
  EXPECT_DOUBLE_EQ(cell.exposure, 2.5);
}

// The amount is unknown: one sequential read is assumed, prefetched by the program's cores with 20 lines each.
TEST(MakeProblem, DeclaredUseWithoutTraffic_CountsAsOneSweep) {
  auto profile = profile_of({{{1, 10, 4, 2.5, 3}}}, 1);
  for (const double cores : {1.0, 8.0}) {
    profile.cores = cores;
    const auto problem = make_problem(profile, example(), {}, 4096, Directives({{"sweep", "b", true}}));
    ASSERT_EQ(problem.phases[0].cells.size(), 3U);
    const auto& cell = problem.phases[0].cells[1];
    EXPECT_EQ(cell.read_bytes, 4096);
    EXPECT_DOUBLE_EQ(cell.exposure, 4096.0 / 64 / 20 / cores);
  }
}

// Planners treat it as full: the time law would let streams use its channel in addition to the others.
TEST(MakeProblem, ComputingPlace_WithoutBudget_IsFull) {
  auto parts = machine::example_parts();
  machine::set_geometry(parts, 3);
  const machine::Machine machine(parts);
  const auto profile = profile_of({{{1, 10, 4, 2.5, 3}}}, 1);
  EXPECT_EQ(make_problem(profile, machine, {}).places[3].budget, Bytes{0});
  EXPECT_EQ(make_problem(profile, machine, {}).places[4].budget, Bytes{64ULL << 30});
  EXPECT_EQ(make_problem(profile, machine, machine::parse_budget(machine, "ddr=1GiB")).places[3].budget, Bytes{0});
  EXPECT_EQ(make_problem(profile, machine, machine::parse_budget(machine, "hbm1=1GiB")).places[3].budget,
            Bytes{1ULL << 30});
}

// An object allocated and freed within one iteration is in the problems of all, so that they can be concatenated.
TEST(MakeProblem, SingleIteration_HasObjectsOfAllIterations) {
  const auto machine = example();
  auto profile = profile_of({{{1, 10, 4, 2.5, 3}}, {{3, 10, 4, 2.5, 3}}}, 1);
  profile.objects[1].live = false;
  const auto first = make_problem(single_iteration(profile, 0), machine, {});
  const auto second = make_problem(single_iteration(profile, 1), machine, {});
  EXPECT_EQ(first.items.size(), 6U);
  EXPECT_EQ(second.items.size(), 6U);
  EXPECT_EQ(concatenate_iterations({first, second}).phases.size(), 2U);
  profile.objects[2].live = false;  // not referenced
  EXPECT_EQ(make_problem(single_iteration(profile, 0), machine, {}).items.size(), 5U);
}

TEST(MakeProblem, SeveralIterations_AreAveraged) {
  const auto machine = example();
  const auto problem =
      make_problem(profile_of({{{0, 10, 0, 0, 0}}, {{0, 20, 0, 0, 0}, {3, 8, 0, 0, 0}}}, 1), machine, {});
  ASSERT_EQ(problem.phases[0].cells.size(), 2U);
  EXPECT_DOUBLE_EQ(problem.phases[0].cells[0].read_bytes, 15 * 64);
  EXPECT_DOUBLE_EQ(problem.phases[0].cells[1].read_bytes, 4 * 64);
  EXPECT_DOUBLE_EQ(problem.phases[0].core.value, 1e-6);
}

TEST(MakeProblem, SkippedIterations_WeightTheLastObserved) {
  const auto machine = example();
  auto profile = profile_of({{{0, 10, 0, 0, 0}}, {{0, 20, 0, 0, 0}}}, 1);
  profile.iterations[1].stands_for = 4;
  EXPECT_DOUBLE_EQ(make_problem(profile, machine, {}).phases[0].cells[0].read_bytes, (10 + 4 * 20) / 5.0 * 64);
  // A first iteration unlike the others is not usual, although it is one of two observed.
  profile.iterations[0].phases[0].time = Seconds{2};
  EXPECT_DOUBLE_EQ(make_problem(profile, machine, {}).phases[0].cells[0].read_bytes, 20 * 64);
}

TEST(MakeProblem, UnusualInstance_IsIgnored) {
  const auto machine = example();
  auto profile = profile_of({{{0, 10, 0, 0, 1}}, {{0, 20, 0, 0, 1}}, {{0, 900, 0, 0, 1}}}, 1);
  profile.iterations[1].phases[0].time = Seconds{1.05};
  profile.iterations[2].phases[0].time = Seconds{3};
  EXPECT_DOUBLE_EQ(make_problem(profile, machine, {}).phases[0].cells.at(0).read_bytes, 15 * 64.0);
  // If most iterations differ, all are used.
  profile.iterations[1].phases[0].time = Seconds{2};
  EXPECT_DOUBLE_EQ(make_problem(profile, machine, {}).phases[0].cells.at(0).read_bytes, 310 * 64.0);
}

// A solver's phase that needed more steps once: segments reached only then are dropped.
TEST(MakeProblem, SeldomReachedSegments_AreDropped) {
  auto profile = profile_of({{{0, 10, 0, 0, 1}}, {{0, 10, 0, 0, 1}}, {{0, 10, 0, 0, 1}}}, 1);
  for (auto& iteration : profile.iterations) {
    iteration.phases[0].name = "solve";
    for (const auto* name : {"solve@100", "solve@200", "idle"}) {
      iteration.phases.push_back(iteration.phases[0]);
      iteration.phases.back().name = name;
    }
    const bool longest = &iteration == &profile.iterations[0];
    for (const std::size_t k : {std::size_t{2}, std::size_t{3}}) {
      if (k == 2 && longest) continue;
      iteration.phases[k].time = Seconds{};
      iteration.phases[k].cells.clear();
    }
  }
  const auto every = make_problem(profile, example(), {});
  auto problem = every;
  drop_unreached_segments(problem);
  std::vector<std::string> names;
  for (const auto& phase : problem.phases) names.push_back(phase.name);
  EXPECT_EQ(names, (std::vector<std::string>{"solve", "solve@100", "idle"}));
  EXPECT_EQ(phase_time(problem, 1, problem.measured_at).total, phase_time(every, 1, every.measured_at).total);
}

TEST(MakeProblem, UnusualPhaseCount_IsIgnored) {
  auto profile = profile_of({{{0, 10, 0, 0, 0}}, {{0, 30, 0, 0, 0}}, {{0, 99, 0, 0, 0}}}, 1);
  profile.iterations[2].phases.push_back(profile.iterations[2].phases[0]);
  const auto problem = make_problem(profile, example(), {});
  ASSERT_EQ(problem.phases.size(), 1U);
  EXPECT_DOUBLE_EQ(problem.phases[0].cells[0].read_bytes, 20 * 64);
}

// ddr: 100 GB/s, 100 ns. 10,000 latencies are 1 ms: the rest of the phase's time stays a constant.
TEST(MakeProblem, UnexplainedTime_IsConstant) {
  const auto problem = make_problem(profile_of({{{0, 10, 0, 10'000, 0}}}, 3e-3), example(), {});
  EXPECT_NEAR(problem.phases[0].unexplained.value, 3e-3 - 1e-3 - 1e-6, 1e-12);
  EXPECT_NEAR(phase_time(problem, 0, problem.measured_at).total, 3e-3, 1e-12);
}

TEST(MakeProblem, EstimatesAboveMeasuredTime_AreScaled) {
  auto profile = profile_of({{{0, 10, 0, 10'000, 0}}}, 0.5e-3);
  profile.exact = false;
  const auto problem = make_problem(profile, example(), {});
  EXPECT_NEAR(phase_time(problem, 0, problem.measured_at).total, 0.5e-3, 1e-12);
  EXPECT_NEAR(problem.phases[0].cells[0].exposure, 10'000 * 0.5e-3 / 1.001e-3, 1e-6);
  EXPECT_EQ(problem.phases[0].unexplained.value, 0);
}

// An object freed before the loop and not accessed in it is dropped; one freed but accessed in the loop is kept.
TEST(MakeProblem, FreedUnusedObjects_AreDropped) {
  auto profile = profile_of({{{3, 10, 0, 0, 0}}}, 1);
  profile.objects[0].live = false;
  profile.objects[1].live = false;
  const auto problem = make_problem(profile, example(), {});
  ASSERT_EQ(problem.objects.size(), 2U);
  EXPECT_EQ(problem.objects[0].name, "b");
  EXPECT_EQ(problem.phases[0].cells[0].item, 0U);
}

TEST(MakeProblem, NoIterations_Throws) {
  profile::Profile profile;
  EXPECT_THROW(make_problem(profile, example(), {}), Error);
}

// 64 equal chunks and 64 with growing traffic: the equal ones merge first; traffic and sizes are conserved.
TEST(MakeProblem, ManyChunks_MostSimilarNeighboursMerge) {
  profile::Profile profile;
  profile.exact = true;
  for (std::uint32_t o = 0; o < 2; ++o) {
    observe::Object object;
    object.id = o;
    object.name = o == 0 ? "even" : "rising";
    object.chunk_size = Bytes{4096};
    object.size = Bytes{64 * 4096};
    object.first_chunk = o * 64;
    object.chunks = 64;
    profile.objects.push_back(object);
  }
  profile.places.assign(128, k_ddr);
  observe::Phase phase;
  phase.time = Seconds{1};
  double lines = 0;
  for (std::uint32_t c = 0; c < 128; ++c) {
    phase.cells.push_back({c, c < 64 ? 10.0 : 10.0 * (c - 63) * (c - 63), 0, 0, 0});
    lines += phase.cells.back().read_lines;
  }
  profile.iterations = {{0, {phase}}};
  const auto problem = make_problem(profile, example(), {}, 80);
  EXPECT_EQ(problem.items.size(), 80U);
  std::uint64_t bytes = 0, chunks = 0;
  std::size_t rising = 0;
  for (const auto& item : problem.items) {
    bytes += item.size.value;
    chunks += item.chunks;
    EXPECT_LE(item.chunks, 6U);  // four times the mean size
    rising += item.object == 1 ? 1 : 0;
  }
  EXPECT_EQ(bytes, 128U * 4096);
  EXPECT_EQ(chunks, 128U);
  EXPECT_GE(rising, 60U);
  double read = 0;
  for (const auto& cell : problem.phases[0].cells) read += cell.read_bytes;
  EXPECT_DOUBLE_EQ(read, lines * 64);
}

TEST(DumpJson, Numbers_RoundTrip) {
  auto problem = make_problem(profile_of({{{1, 1.0 / 3, 0, 0.1, 0}}}, 1), example(), {});
  problem.objects[0].name = "a \"quoted\"\n\\name";
  const auto json = dump_json(problem);
  EXPECT_NE(json.find(R"("name":"a \"quoted\"\u000a\\name")"), std::string::npos);
  EXPECT_NE(json.find("[1,21.333333333333332,0,0.1,0,0,0]"), std::string::npos);
  EXPECT_NE(json.find(R"("schema":"terrace-problem-3")"), std::string::npos);
}

}  // namespace
}  // namespace terrace::model
