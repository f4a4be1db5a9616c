// Tests of draws against exact counts: intervals of draws have their stated coverage.
#include "model/uncertainty/sampling_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "../observe/collected_program.hpp"
#include "observe/collecting/exact_collector.hpp"
#include "observe/collecting/sampling_collector.hpp"
#include "random_problem.hpp"

namespace terrace::model {
namespace {

constexpr std::uint32_t k_chunks = 24, k_objects = 6;
constexpr int k_quanta = 12;

// One program, observed exactly and by samplers with several seeds.
struct Seen {
  explicit Seen(std::uint64_t seed) : program(k_chunks) {
    observe::ExactCollector exact(program.machine, 0, 1, program.chunks);
    observe::SamplingCollector sampled(program.machine, 0, 1, program.chunks, {1e-6}, seed);
    observe::Tee tee;
    tee.add(exact);
    tee.add(sampled);
    for (auto* collector :
         {static_cast<observe::Collector*>(&exact), static_cast<observe::Collector*>(&sampled)}) {
      collector->begin_iteration(0);
      collector->begin_phase("p");
    }
    for (int q = 0; q < k_quanta; ++q) {
      const auto misses = program.misses(4000);
      tee.quantum({0, 20000, 20000, {16000, 0, 0, 0}, misses});
    }
    for (auto* collector : {static_cast<observe::Collector*>(&exact), static_cast<observe::Collector*>(&sampled)})
      collector->end_phase({1});  // so long that no estimate is scaled down
    truth = problem(exact.take_iteration(), true);
    estimate = problem(sampled.take_iteration(), false);
  }
  Problem problem(const observe::Iteration& iteration, bool is_exact) {
    profile::Profile profile;
    profile.exact = is_exact;
    profile.loop = "loop";
    profile.iterations = {iteration};
    const auto each = k_chunks / k_objects;
    for (std::uint32_t o = 0; o < k_objects; ++o)
      profile.objects.push_back({o, "object" + std::to_string(o), observe::ObjectKind::heap, Bytes{each * 65536},
                                 Bytes{65536}, o * each, each, true});
    for (std::uint32_t c = 0; c < k_chunks; ++c) profile.places.push_back(static_cast<PlaceId>(c % 2));
    return make_problem(profile, program.machine, {});
  }
  observe::Program program;
  Problem truth, estimate;
};

using Value = double ItemCell::*;
double of_object(const Problem& problem, std::uint32_t object, Value value) {
  double sum = 0;
  for (const auto& cell : problem.phases[0].cells)
    if (problem.items[cell.item].object == object) sum += cell.*value;
  return sum;
}

TEST(SamplingError, Intervals_HaveTheStatedCoverage) {
  constexpr int k_seeds = 150, k_draws = 200;
  for (const Value value : {&ItemCell::exposure, &ItemCell::read_bytes}) {
    int held = 0;
    for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
      const Seen seen(seed * 0x9e3779b97f4a7c15u);
      const SamplingError error(seen.estimate);
      const auto object =
          static_cast<std::uint32_t>(seed % k_objects);  // one object per run: objects are not independent
      std::vector<double> drawn(k_draws);
      for (int d = 0; d < k_draws; ++d)
        drawn[d] = of_object(error.draw(static_cast<std::uint64_t>(d)), object, value);
      std::sort(drawn.begin(), drawn.end());
      const auto exact = of_object(seen.truth, object, value);
      held += exact >= drawn[k_draws / 20] && exact <= drawn[k_draws - 1 - k_draws / 20] ? 1 : 0;
    }
    const double share = held / static_cast<double>(k_seeds);
    EXPECT_NEAR(share, 0.9, 3 * std::sqrt(0.9 * 0.1 / k_seeds));
  }
}

TEST(SamplingError, Draws_MeanAndTotalsMatch) {
  const Seen seen(7);
  const SamplingError error(seen.estimate);
  constexpr int k_draws = 2000;
  std::vector<double> sums(k_objects, 0);
  for (int d = 0; d < k_draws; ++d) {
    const auto drawn = error.draw(static_cast<std::uint64_t>(d));
    double samples = drawn.phases[0].core.value / 1e-6;
    for (std::uint32_t o = 0; o < k_objects; ++o) {
      sums[o] += of_object(drawn, o, &ItemCell::samples);
      samples += of_object(drawn, o, &ItemCell::samples);
    }
    EXPECT_NEAR(samples, seen.estimate.phases[0].samples, 2.0 + 1e-6) << "what a phase's two ends may add";
  }
  for (std::uint32_t o = 0; o < k_objects; ++o) {
    const auto k = of_object(seen.estimate, o, &ItemCell::samples);
    EXPECT_NEAR(sums[o] / k_draws, k, 4 * std::sqrt(k / k_draws)) << o;
  }
}

// Exact counts have no error.
TEST(SamplingError, ExactProblem_DrawEqualsProblem) {
  const Seen seen(1);
  EXPECT_TRUE(SamplingError(seen.truth).none());
  EXPECT_FALSE(SamplingError(seen.estimate).none());
  const auto drawn = SamplingError(seen.truth).draw(3);
  EXPECT_EQ(dump_json(drawn), dump_json(seen.truth));
  std::mt19937 random(3);
  EXPECT_TRUE(SamplingError(testing::random_problem(random, {})).none());
}

TEST(SamplingError, SameNumber_SameDraw) {
  const Seen seen(1);
  const SamplingError error(seen.estimate);
  EXPECT_EQ(dump_json(error.draw(5)), dump_json(error.draw(5)));
  EXPECT_NE(dump_json(error.draw(5)), dump_json(error.draw(6)));
}

}  // namespace
}  // namespace terrace::model
