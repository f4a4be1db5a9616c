// Tests StreamScheduler: in any order of transfers and steps no value is lost, no step sees another chunk than
// its own, and it never stalls; compares its fetches with the optimum.
#include "stencil/stream/scheduler.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>

#include "stream_model.hpp"

namespace terrace::stencil::test {
namespace {

// Starts and ends transfers and steps in a random order, some much more often than others.
void run_at_random(StreamModel& model, RandomStreams& random, std::size_t eagerness) {
  while (!model.is_over()) {
    if (model.is_running() && random.is_one_in(eagerness)) {
      model.end_step();
    } else if (model.is_ready() && !model.is_running() && random.is_one_in(eagerness)) {
      model.begin_step();
    } else if (model.under_way() > 0 && random.is_one_in(2)) {
      model.end_move(random.number(0, model.under_way() - 1));
    } else if (!model.begin_move()) {
      const auto can_go_on = model.under_way() > 0 || model.is_running() || model.is_ready();
      ASSERT_TRUE(can_go_on) << "it stands still";
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(StreamScheduler, AnyOrder_LosesNoValueAndNeverStalls) {
  std::size_t fetches = 0, stores = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStreams random(seed);
    const auto streams = random.next(3, 5, 6, 6, false);
    StreamModel model(streams, random.number(1, 5));
    if (random.is_one_in(2)) model.set_all();
    const auto eagerness = random.number(1, 6);
    for (std::size_t c = 0; c < streams.plans.size(); ++c) {
      // The predicted successor may be missing or wrong.
      Plan ahead;
      if (c + 1 < streams.plans.size() && !random.is_one_in(4)) ahead = streams.plans[c + 1];
      if (random.is_one_in(5)) ahead = streams.plans[random.number(0, streams.plans.size() - 1)];
      model.begin(streams.plans[c], ahead);
      ASSERT_NO_FATAL_FAILURE(run_at_random(model, random, eagerness));
      if (!random.is_one_in(3)) continue;
      while (model.under_way() > 0) model.end_move(0);
      const auto dataset = random.number(0, streams.chunks.size() - 1);
      if (!streams.is_temporary[dataset])
        model.set({static_cast<DatasetId>(dataset),
                   static_cast<std::uint32_t>(random.number(0, streams.chunks[dataset] - 1))});
    }
    while (model.under_way() > 0) model.end_move(0);
    model.expect_truth();
    ASSERT_FALSE(testing::Test::HasFailure());
    fetches += model.fetches();
    stores += model.stores();
  }
  // Otherwise nothing was tested.
  EXPECT_GT(fetches, 10000U);
  EXPECT_GT(stores, 3000U);
}

// A removed dataset is not stored, and its frames are free at once, also before the next chain.
TEST(StreamScheduler, RemovedDataset_IsNotStored) {
  const auto chain = [](DatasetId dataset, bool is_fetched) {
    auto plan = std::make_shared<StreamPlan>();
    plan->steps.resize(3);
    for (std::uint32_t c = 0; c < 3; ++c) plan->uses.push_back({{dataset, c}, c, c, is_fetched, true});
    plan->most_chunks = 1;
    return plan;
  };
  StreamModel model({.chunks = {3, 3}, .is_temporary = {false, false}, .plans = {}, .frames = 3}, 2);
  model.begin(chain(0, false), chain(1, true));
  while (!model.is_over()) {
    ASSERT_TRUE(model.begin_move());
    model.end_move(0);
    model.begin_step();
    model.end_step();
  }
  model.remove(0);
  for (int moves = 0; moves < 3; ++moves) {
    ASSERT_TRUE(model.begin_move()) << "of the next chain";
    model.end_move(0);
  }
  EXPECT_EQ(model.stores(), 0U);
  model.begin(chain(1, true), nullptr);
  EXPECT_TRUE(model.is_ready());
}

// With many frames and overlapping steps, each decision equals that of the exhaustive scheduler.
TEST(StreamScheduler, ManyFrames_MatchExhaustiveScheduler) {
  std::size_t stores = 0, fetches = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStreams random(seed);
    auto streams = random.next(4, 40, 5, 30, false);
    StreamModel model(streams, random.number(1, 16));
    model.set_all();
    for (std::size_t c = 0; c < streams.plans.size(); ++c) {
      model.begin(streams.plans[c], c + 1 < streams.plans.size() ? streams.plans[c + 1] : nullptr);
      ASSERT_NO_FATAL_FAILURE(run_at_random(model, random, 12));
    }
    stores += model.stores();
    fetches += model.fetches();
  }
  EXPECT_GT(fetches, 1000U);
  EXPECT_GT(stores, 1000U);
}

// Returns the minimum number of fetches with that many frames, over all sets of chunks resident after each
// step: L. Belady's optimum, by brute force.
std::size_t fewest_fetches(const StreamCase& of) {
  constexpr auto k_max = std::numeric_limits<std::size_t>::max();
  std::map<ChunkId, std::size_t> numbers;
  for (const auto& plan : of.plans)
    for (const auto& use : plan->uses) numbers.try_emplace(use.chunk, numbers.size());
  const auto sets = std::size_t{1} << numbers.size();
  std::vector<std::size_t> least(sets, k_max);
  least[0] = 0;
  for (const auto& plan : of.plans)
    for (std::size_t step = 0; step < plan->steps.size(); ++step) {
      std::size_t used = 0, fetched = 0;
      for (const auto& use : plan->uses) {
        if (!uses_in(use, step)) continue;
        used |= std::size_t{1} << numbers.at(use.chunk);
        if (use.is_fetched) fetched |= std::size_t{1} << numbers.at(use.chunk);
      }
      std::vector<std::size_t> next(sets, k_max);
      for (std::size_t before = 0; before < sets; ++before) {
        if (least[before] == k_max) continue;
        const auto cost = least[before] + static_cast<std::size_t>(std::popcount(fetched & ~before));
        for (std::size_t after = 0; after < sets; ++after)
          if ((after & used) == used && (after & ~(before | used)) == 0 &&
              static_cast<std::size_t>(std::popcount(after)) <= of.frames)
            next[after] = std::min(next[after], cost);
      }
      least = std::move(next);
    }
  return *std::ranges::min_element(least);
}

enum class Moves : std::uint8_t {
  on_demand,  // on demand: chunks of a step are fetched once the previous step has ended
  at_random,
  at_once  // prefetch: all allowed transfers have ended before each step
};

// Each chain is predicted while the previous one runs; values are in the file at first. `random` drives random
// transfers.
StreamModel ran(const StreamCase& of, Moves moves, RandomStreams* random = nullptr) {
  StreamModel model(of, moves == Moves::on_demand ? 1 : 3);
  model.set_all();
  for (std::size_t c = 0; c < of.plans.size(); ++c) {
    model.begin(of.plans[c], c + 1 < of.plans.size() ? of.plans[c + 1] : nullptr);
    if (moves == Moves::at_random) run_at_random(model, *random, 4);
    while (!model.is_over()) {
      while (moves == Moves::at_once && model.begin_move()) model.end_move(0);
      while (!model.is_ready()) {
        EXPECT_TRUE(model.begin_move());
        model.end_move(0);
        if (testing::Test::HasFailure()) return model;
      }
      model.begin_step();
      model.end_step();
    }
  }
  return model;
}

TEST(StreamScheduler, OnDemand_FetchesOptimalNumber) {
  std::size_t had_to_leave = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStreams random(seed);
    // Two chains: nothing is known beyond the next one.
    const auto streams = random.next(2, 4, 2, 20, true);
    const auto least = fewest_fetches(streams);
    ASSERT_EQ(ran(streams, Moves::on_demand).fetches(), least);
    had_to_leave += streams.frames < streams.chunks[0] + streams.chunks[1];
  }
  EXPECT_GT(had_to_leave, 100U);
}

TEST(StreamScheduler, Prefetch_FetchesNearOptimalNumber) {
  std::size_t all = 0, least = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomStreams random(seed);
    const auto streams = random.next(2, 4, 4, 6, false);
    const auto fewest = fewest_fetches(streams);
    const auto done = ran(streams, Moves::at_random, &random).fetches();
    ASSERT_GE(done, fewest);
    all += done;
    least += fewest;
  }
  RecordProperty("fetches", static_cast<int>(all));
  RecordProperty("least", static_cast<int>(least));
  EXPECT_LE(all, least + least / 8);
}

// Temporaries that begin in many steps: mapping them too early evicts what the next chain, in reverse
// direction, reuses.
TEST(StreamScheduler, LaterTemporaries_KeepDataOfNextChain) {
  constexpr std::uint32_t k_steps = 60, k_temporaries = 4;
  const auto chain = [](bool is_reversed) {
    auto plan = std::make_shared<StreamPlan>();
    plan->steps.resize(k_steps);
    for (std::uint32_t step = 0; step < k_steps; ++step) {
      const auto at = is_reversed ? k_steps - 1 - step : step;
      plan->uses.push_back({{0, at}, step, step, true, true});
      for (std::uint32_t t = 0; t < k_temporaries; ++t)
        plan->uses.push_back({{1, at * k_temporaries + t}, step, step, false, true});
    }
    plan->most_chunks = 1 + k_temporaries;
    return plan;
  };
  StreamCase of{.chunks = {k_steps, k_steps * k_temporaries},
                .is_temporary = {false, true},
                .plans = {},
                .frames = k_steps + 2};
  for (std::size_t c = 0; c < 8; ++c) of.plans.push_back(chain(c % 2 == 1));
  const auto least = ran(of, Moves::on_demand), ahead = ran(of, Moves::at_once);
  // In each chain the temporaries of at most four steps are mapped early. Chunks evicted for them are stored in
  // that chain and fetched in the next.
  constexpr auto k_early = 4 * k_temporaries;
  EXPECT_LE(ahead.stores(), least.stores() + of.plans.size() * k_early);
  EXPECT_LE(ahead.fetches(), least.fetches() + (of.plans.size() - 1) * k_early);
}

}  // namespace
}  // namespace terrace::stencil::test
