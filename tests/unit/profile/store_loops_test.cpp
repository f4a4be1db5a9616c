// Tests of loops in a store: selection of the main loop, weights of iterations, and the profiled ones.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/journal.hpp"
#include "store_fixture.hpp"

namespace terrace::profile {
namespace {

// Iterations 0, 1 and 5 of seven were observed, and the end of 3, which is not in the profile.
TEST_F(StoreTest, SkippedIterations_WeightThePrecedingProfiledOne) {
  {
    Journal journal(path("j"));
    append(journal, RunRecord{});
    append(journal, LoopRecord{"main", {0}});
    for (std::uint32_t i = 0; i < 7; ++i) {
      const bool whole = i < 2 || i == 5;
      append(journal, PhaseRecord{i, 0, "a", {2.0 * i}, {2.0 * i + 1}, {}, whole});
      append(journal, PhaseRecord{i, 1, "b", {2.0 * i + 1}, {2.0 * i + 2}, {}, whole || i == 3});
      if (!whole) continue;
      std::vector<observe::Phase> phases(2);
      phases[0].name = "a";
      phases[1].name = "b";
      for (auto& phase : phases) phase.time = {1};
      append(journal, IterationRecord{false, {i, phases}, {}});
    }
    append(journal, LoopEndRecord{{14}, 7, 3});
    append(journal, EndRecord{{14}, "exit"});
  }
  const auto merged = merge_journals({path("j")}, path("x.terrace"));
  EXPECT_EQ(count(merged.path, "loop WHERE iterations = 7 AND observed = 3"), 1);
  EXPECT_EQ(count(merged.path, "phase_instance WHERE NOT observed"), 7);
  std::vector<double> stand_for;
  for (const auto& iteration : Store(merged.path).profile(1, false).iterations)
    stand_for.push_back(iteration.stands_for);
  EXPECT_EQ(stand_for, (std::vector<double>{1, 4, 2}));
}

// Observation of a set-up loop took more time than the steps, which do most of the work. A killed process has no
// candidates.
TEST_F(StoreTest, MainLoop_SetUpTookLonger_IsTheCandidateWithoutVerdictOrTheLongestWithoutCandidates) {
  int stores = 0;
  const auto merged = [&](const LoopsRecord* loops) {
    const auto number = std::to_string(++stores);
    {
      Journal journal(path("j" + number));
      append(journal, RunRecord{});
      append(journal, LoopRecord{"fill:3", {0}, "it repeats", 0, 0});
      append(journal, LoopEndRecord{{10}, 100, 100, 0});
      append(journal, LoopRecord{"step:9", {11}, "it repeats", 0, 0});
      append(journal, LoopEndRecord{{19}, 6, 6, 0});
      if (loops != nullptr) append(journal, *loops);
      append(journal, EndRecord{{19}, "exit"});
    }
    return merge_journals({path("j" + number)}, path(number + ".terrace")).path;
  };
  const auto has = [&](const std::string& store, const std::string& name) {
    return count(store, "main_loop WHERE name = '" + name + "'");
  };
  const auto by_time = merged(nullptr);
  EXPECT_EQ(has(by_time, "fill:3"), 1);
  EXPECT_EQ(has(by_time, "step:9"), 0);
  EXPECT_EQ(count(by_time, "loop_candidate"), 0);
  LoopsRecord loops{{{"step:9", true, 0.2, 0.8, 1, 6, ""}, {"fill:3", true, 0, 0.2, 1, 100, "less"}}};
  const auto by_work = merged(&loops);
  EXPECT_EQ(has(by_work, "fill:3"), 0);
  EXPECT_EQ(has(by_work, "step:9"), 1);
  EXPECT_EQ(
      count(by_work, "loop_candidate WHERE name = 'fill:3' AND taken AND iterations = 100 AND verdict = 'less'"),
      1);
  loops.loops[0].verdict = "little";
  EXPECT_EQ(count(merged(&loops), "main_loop"), 0);
  // No candidate was taken.
  loops = {{{"sweep:5", false, 0, 0.2, 1, 6, "short"}}};
  EXPECT_EQ(has(merged(&loops), "fill:3"), 1);
}

// Writes a detected loop: `turns` iterations of 1 s from second 4 on, the first two before its detection; the last
// one lasts `last` seconds, and the run ends at `ended`.
std::string found_loop(const std::string& journal_path, const std::string& store, std::uint32_t turns, double last,
                       double ended) {
  const double end = 4 + turns - 1 + last;
  {
    Journal journal(journal_path);
    append(journal, RunRecord{});
    append(journal, LoopRecord{"f:3", {6}, "it repeats", 2, 100});
    for (std::uint32_t i = 2; i < turns; ++i)
      append(journal, PhaseRecord{i - 2, 0, "f:3", {4.0 + i}, {i + 1 < turns ? 5.0 + i : end}, {}, true});
    append(journal, LoopEndRecord{{end}, turns - 2, turns - 2, 300});
    append(journal, EndRecord{{ended}, "exit"});
  }
  return merge_journals({journal_path}, store).path;
}

TEST_F(StoreTest, DetectedLoop_TimesIncludeIterationsBeforeDetection) {
  const auto store = found_loop(path("j"), path("x.terrace"), 8, 1, 20);
  EXPECT_EQ(count(store, "loop_time WHERE abs(time - 8) < 1e-9 AND abs(begun - 4) < 1e-9"), 1);
  EXPECT_EQ(count(store, "loop WHERE misses_before = 100 AND misses_by_end = 300"), 1);
}

TEST_F(StoreTest, DetectedLoop_TwoFifthsOfTheRun_IsTheMainLoop) {
  EXPECT_EQ(count(found_loop(path("j"), path("x.terrace"), 8, 1, 24), "main_loop"), 1);    // 8 of 20 s
  EXPECT_EQ(count(found_loop(path("k"), path("y.terrace"), 8, 1, 24.1), "main_loop"), 0);  // of 20.1 s
}

// The loop's end is unknown: its last iteration includes what follows the loop.
TEST_F(StoreTest, UnfinishedLoop_LastIterationCountsAsMean) {
  const auto store = found_loop(path("j"), path("x.terrace"), 8, 13, 24);
  EXPECT_EQ(count(store, "loop_time WHERE abs(time - 8) < 1e-9"), 1);
  EXPECT_EQ(count(store, "main_loop"), 1);
  EXPECT_EQ(count(found_loop(path("k"), path("y.terrace"), 8, 14, 25), "main_loop"), 0);
}

// A program profiled again has the profile of its latest plan.
TEST_F(StoreTest, ReprofiledLoop_LatestProfileIsRead) {
  {
    Journal journal(path("j"));
    append(journal, RunRecord{});
    append(journal, LoopRecord{"main", {0}});
    for (const std::uint32_t number : {0U, 1U, 20U, 50U}) {
      std::vector<observe::Phase> phases(1);
      phases[0].name = "a";
      phases[0].time = {1.0 * number};
      append(journal, IterationRecord{false, {number, phases}, {static_cast<PlaceId>(number)}, number > 1});
      append(journal, IterationRecord{true, {number, phases}, {}, false});
    }
    append(journal, EndRecord{{99}, "exit"});
  }
  const Store store(merge_journals({path("j")}, path("x.terrace")).path);
  const auto sampled = store.profile(1, false);
  ASSERT_EQ(sampled.iterations.size(), 1U);
  EXPECT_EQ(sampled.iterations[0].number, 50U);
  EXPECT_EQ(sampled.places, (std::vector<PlaceId>{50}));
  EXPECT_EQ(store.profile(1, true).iterations.size(), 4U);
}

}  // namespace
}  // namespace terrace::profile
