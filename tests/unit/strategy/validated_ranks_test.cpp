// Tests that ranks of an MPI job undo their plans together. Each rank is a process with a validated strategy; they
// begin each iteration at a barrier.
#include <gtest/gtest.h>

#include <algorithm>

#include "rank_processes.hpp"
#include "validated_program.hpp"

namespace terrace::strategy {
namespace {

constexpr int k_iterations = 24;

// Runs the program of a rank, which begins each iteration together with the other one. Returns the place of its data
// in each iteration.
std::vector<PlaceId> run_rank(RankProcess& rank, const std::function<double(int iteration, PlaceId)>& takes) {
  Program program(k_slow, k_fast, false, 0, &rank.group);
  rank.group.begin_loop("loop");
  return program.run(k_iterations, [&](int i, PlaceId place) {
    rank.iterate(static_cast<std::uint32_t>(i));
    rank.meet();
    return takes(i, place);
  });
}

// Runs two ranks; `takes` returns the time of a rank's iteration. Returns by rank whether its data is in fast
// memory at the end.
std::vector<bool> run(const std::function<double(std::uint32_t rank, int iteration, PlaceId)>& takes) {
  SharedByRanks shared(2);
  run_ranks(shared, [&](RankProcess& rank) {
    const auto places = run_rank(rank, [&](int i, PlaceId place) { return takes(rank.rank, i, place); });
    rank.content.answers[rank.rank] = places.back() == k_fast;
    rank.meet();
  });
  return {shared.content->answers[0] == 1, shared.content->answers[1] == 1};
}

TEST(ValidatedRanks, PlansThatGain_StayOnAllRanks) {
  EXPECT_EQ(run([](std::uint32_t, int, PlaceId place) { return place == k_fast ? 1 : 2; }),
            (std::vector<bool>{true, true}));
}

// Rank 1 alone would undo its plan.
TEST(ValidatedRanks, FollowerSeesNoise_PlansStayOnAllRanks) {
  const auto takes = [](std::uint32_t rank, int i, PlaceId place) {
    if (rank == 1 && place == k_fast && i < 6) return 4.0;
    return place == k_fast ? 1.0 : 2.0;
  };
  EXPECT_EQ(run(takes), (std::vector<bool>{true, true}));
}

// Rank 1 alone would keep its plan.
TEST(ValidatedRanks, LeaderUndoes_AllRanksUndo) {
  const auto takes = [](std::uint32_t rank, int, PlaceId place) {
    if (rank == 0) return place == k_fast ? 2.0 : 1.0;
    return place == k_fast ? 1.0 : 2.0;
  };
  EXPECT_EQ(run(takes), (std::vector<bool>{false, false}));
}

// The leader suspends its plan, finds that its iterations take as long without it, and reinstates it. Rank 1 alone
// would undo its plan for good.
TEST(ValidatedRanks, LeaderReinstates_AllRanksDo) {
  SharedByRanks shared(2);
  run_ranks(shared, [&](RankProcess& rank) {
    const auto places = run_rank(rank, [&](int i, PlaceId place) {
      if (rank.rank == 0) return i < 2 ? 1.0 : 1.5;
      return place == k_fast ? 2.0 : 1.0;
    });
    const auto suspended = std::count(places.begin() + 4, places.end(), k_slow);
    EXPECT_GT(suspended, 0) << "of rank " << rank.rank;
    EXPECT_EQ(places.back(), k_fast) << "of rank " << rank.rank;
    rank.meet();
  });
}

TEST(ValidatedRanks, LeaderIsKilled_NextRankDecides) {
  SharedByRanks shared(2);
  const auto body = [&](RankProcess& rank) {
    Program program(k_slow, k_fast, false, 0, &rank.group);
    rank.group.begin_loop("loop");
    const auto places = program.run(k_iterations, [&](int i, PlaceId place) {
      rank.iterate(static_cast<std::uint32_t>(i));
      if (i < 3) rank.meet();
      if (i == 3 && rank.rank == 0) ::raise(SIGKILL);
      if (i == 3) rank.wait_until_dead(0);
      return place == k_fast ? 2 : 1;
    });
    rank.content.answers[rank.rank] = places.back() == k_fast ? 1 : 2;
  };
  run_ranks(shared, body, 0);
  EXPECT_EQ(shared.content->answers[1], 2) << "undone by rank 1 itself";
}

}  // namespace
}  // namespace terrace::strategy
