// Tests of find_repeats() with loops of known steps.
#include "model/repeats.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/segment_name.hpp"

namespace terrace::model {
namespace {

// Returns a problem with items of one object each; the machine is irrelevant.
Problem with_items(std::uint32_t items) {
  Problem problem;
  for (std::uint32_t i = 0; i < items; ++i) {
    problem.objects.push_back({"o" + std::to_string(i), Bytes{4096}, 1});
    problem.items.push_back({Bytes{4096}, 0, i, 0, 1, k_no_place});
  }
  return problem;
}

// Adds a phase of `accesses`; access a uses the item `used(a / 100)`. `cuts`: segment boundaries.
template <class Used>
void add_phase(Problem& problem, const std::string& name, const std::vector<std::uint64_t>& cuts,
               std::uint64_t accesses, Used used) {
  for (std::size_t s = 0; s < cuts.size(); ++s) {
    auto& phase = problem.phases.emplace_back();
    phase.name = segment_name(name, cuts[s]);
    std::vector<double> bytes(problem.items.size(), 0.0);
    const auto end = s + 1 < cuts.size() ? cuts[s + 1] : accesses;
    for (auto a = cuts[s]; a < end; ++a) bytes[used(a / 100)] += 64;
    for (std::uint32_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] > 0) phase.cells.push_back({i, bytes[i], 0, 0, 0});
  }
}

std::vector<std::uint64_t> even_cuts(std::size_t segments, std::uint64_t length) {
  std::vector<std::uint64_t> cuts;
  for (std::size_t s = 0; s < segments; ++s) cuts.push_back(s * length);
  return cuts;
}

// Steps of 500 accesses to five items in rotation, cut every 100: continues a whole number of steps back.
TEST(Repeats, PeriodicSteps_ContinuesWholeStepsBack) {
  auto problem = with_items(5);
  add_phase(problem, "setup", even_cuts(1, 1), 700, [](auto) { return 0; });
  add_phase(problem, "solve", even_cuts(61, 100), 6000, [](auto a) { return a % 5; });
  add_phase(problem, "output", even_cuts(1, 1), 700, [](auto) { return 3; });
  const auto found = find_repeats(problem);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].last, 61U);
  EXPECT_EQ((found[0].last - found[0].from) % 5, 0U);
  EXPECT_GE(found[0].last - found[0].from, 15U) << "a quarter of the phase";
}

// Cuts do not coincide with steps: continues at the nearest cut.
TEST(Repeats, UnevenSegments_ContinuesAtNearestSegment) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    auto problem = with_items(6);
    std::vector<std::uint64_t> cuts{0};
    while (cuts.size() < 64) cuts.push_back(cuts.back() + 60 + random() % 100);
    const auto step = 600;
    add_phase(problem, "solve", cuts, cuts.back() + 10, [](auto a) { return a % 6; });
    const auto found = find_repeats(problem);
    ASSERT_EQ(found.size(), 1U);
    const auto beyond = (cuts[found[0].last] - cuts[found[0].from]) % step;
    EXPECT_LE(std::min(beyond, step - beyond), 100U) << "round " << round;
  }
}

// Samples of equal usage differ; the repetition is still found.
TEST(Repeats, SampledTraffic_FindsRepetition) {
  std::mt19937 random(11);
  auto problem = with_items(40);
  for (std::uint32_t s = 0; s < 65; ++s) {
    auto& phase = problem.phases.emplace_back();
    phase.name = segment_name("solve", s * 1000);
    for (std::uint32_t i = 0; i < 40; ++i)
      if (random() % 3 == 0) phase.cells.push_back({i, 64.0, 0, 0, 0});
  }
  EXPECT_EQ(find_repeats(problem).size(), 1U);
}

TEST(Repeats, NoRepetition_IsEmpty) {
  auto sweep = with_items(61);
  add_phase(sweep, "sweep", even_cuts(61, 100), 6000, [](auto a) { return a; });
  EXPECT_TRUE(find_repeats(sweep).empty());
  auto other = with_items(4);  // its second half has other accesses
  add_phase(other, "change", even_cuts(61, 100), 6000, [](auto a) { return a < 47 ? a % 2 : 2 + a % 2; });
  EXPECT_TRUE(find_repeats(other).empty());
  auto short_one = with_items(2);
  add_phase(short_one, "short", even_cuts(5, 100), 400, [](auto a) { return a % 2; });
  EXPECT_TRUE(find_repeats(short_one).empty());
  auto whole = with_items(2);
  add_phase(whole, "a", even_cuts(1, 1), 400, [](auto a) { return a % 2; });
  EXPECT_TRUE(find_repeats(whole).empty());
}

}  // namespace
}  // namespace terrace::model
