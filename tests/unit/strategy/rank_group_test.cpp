// Tests the agreement of ranks: processes that share a ledger, which meet at barriers.
#include "strategy/ranks/rank_group.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "rank_processes.hpp"
#include "strategy/ranks/memory_division.hpp"

namespace terrace::strategy {
namespace {

constexpr std::uint32_t k_ranks = 4;

GainCurve curve_of(double time, double slope, std::uint32_t steps = 16) {
  GainCurve curve;
  curve.num_phases = 1;
  curve.num_steps = steps;
  for (std::uint32_t step = 0; step <= steps; ++step) {
    curve.bytes[step] = step * k_unit;
    curve.time[step][0] = static_cast<float>(time - slope * step);
  }
  return curve;
}

// Begins the loop and its first iteration together with the other ranks.
void begin(RankProcess& rank) {
  rank.group.begin_loop("main");
  rank.meet();
  rank.iterate(0);
  rank.meet();
}

// Publishes and divides, as all ranks do at the same time.
void divide(RankProcess& rank, const GainCurve& curve) {
  rank.group.begin_loop("main");
  rank.iterate(0);
  rank.group.publish_gains({curve});
  rank.meet();
  rank.iterate(1);
  rank.group.divide();
  rank.content.shares[rank.rank] = rank.group.own_budget()[k_fast].value;
}

TEST(RankGroup, FourRanks_DivideByTheSameCurves) {
  SharedByRanks shared(k_ranks);
  const auto curve = [](std::uint32_t rank) { return curve_of(1.0 + rank, 0.05 * (1 + rank)); };
  run_ranks(shared, [&](RankProcess& rank) {
    divide(rank, curve(rank.rank));
    rank.meet();
  });
  const auto expected = divide_memory(16 * k_unit, std::vector<GainCurve>{curve(0), curve(1), curve(2), curve(3)});
  for (std::size_t rank = 0; rank < k_ranks; ++rank) EXPECT_EQ(shared.content->shares[rank], expected[rank]);
}

TEST(RankGroup, OtherProcessHoldsFastMemory_TheRestIsDivided) {
  SharedByRanks shared(k_ranks);
  memory::Ledger stranger(shared.content->page, k_budget);
  ASSERT_TRUE(stranger.take(k_fast, Bytes{8 * k_unit}));
  run_ranks(shared, [&](RankProcess& rank) {
    divide(rank, curve_of(1, 0.01));
    rank.meet();
  });
  std::uint64_t sum = 0;
  for (const auto share : shared.content->shares) sum += share;
  EXPECT_EQ(sum, 8 * k_unit);
}

TEST(RankGroup, RankHoldsMoreThanItsShare_OthersGetWhatItGivesBack) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    if (rank.rank == 0) {
      ASSERT_TRUE(rank.ledger.take(k_fast, Bytes{16 * k_unit}));
    }
    rank.meet();
    divide(rank, curve_of(1, 0.01));
    rank.meet();
    const Bytes share{rank.content.shares[rank.rank]};
    if (rank.rank == 0) rank.ledger.give(k_fast, Bytes{16 * k_unit} - share);
    rank.meet();
    rank.content.answers[rank.rank] = rank.rank == 0 || rank.ledger.take(k_fast, share);
    rank.meet();
    // The shares of others are reserved for them.
    rank.content.answers[rank.rank] = rank.content.answers[rank.rank] && !rank.ledger.take(k_fast, Bytes{k_unit});
    rank.meet();
  });
  for (std::size_t rank = 0; rank < k_ranks; ++rank) {
    EXPECT_EQ(shared.content->shares[rank], 4 * k_unit);
    EXPECT_TRUE(shared.content->answers[rank]) << rank;
  }
}

TEST(RankGroup, UnclaimedShare_OtherRanksCannotTakeIt) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    divide(rank, curve_of(1, 0.01));
    rank.meet();
    if (rank.rank == 0) {
      EXPECT_TRUE(rank.ledger.take(k_fast, Bytes{4 * k_unit}));
      EXPECT_FALSE(rank.ledger.take(k_fast, Bytes{k_unit})) << "12 MiB are free, and are shares of others";
    }
    rank.meet();
    rank.group.release_shares();
    rank.meet();
    if (rank.rank == 0) {
      EXPECT_TRUE(rank.ledger.take(k_fast, Bytes{12 * k_unit})) << "released";
    }
    rank.meet();
    if (rank.rank == 0) rank.ledger.give(k_fast, Bytes{12 * k_unit});
    rank.group.restore_shares();
    rank.meet();
    if (rank.rank == 0) {
      EXPECT_FALSE(rank.ledger.take(k_fast, Bytes{k_unit})) << "restored";
    }
    rank.meet();
  });
}

// The MPI library's own objects stay where they are.
TEST(RankGroup, UnmovableBytesOfRanks_AreNotDivided) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    EXPECT_TRUE(rank.ledger.take(k_fast, Bytes{3 * k_unit}));
    rank.group.begin_loop("main");
    rank.iterate(0);
    rank.group.publish_gains({curve_of(1, 0.01)}, {Bytes{3 * k_unit}});
    rank.meet();
    rank.iterate(1);
    rank.group.divide();
    EXPECT_EQ(rank.group.own_budget()[k_fast].value, k_unit);
    rank.meet();
    EXPECT_TRUE(rank.ledger.take(k_fast, Bytes{k_unit}));
    rank.meet();
    EXPECT_FALSE(rank.ledger.take(k_fast, Bytes{4096}));
    rank.meet();
  });
}

TEST(RankGroup, KilledRank_ItsMemoryIsDividedAmongTheOthers) {
  SharedByRanks shared(k_ranks);
  const auto body = [&](RankProcess& rank) {
    divide(rank, curve_of(1, 0.05));
    ASSERT_TRUE(rank.ledger.take(k_fast, Bytes{rank.content.shares[rank.rank]}));
    rank.meet();
    if (rank.rank == 3) ::raise(SIGKILL);
    rank.wait_until_dead(3);
    rank.clock.time += RankGroup::k_dead_rank_scan_interval;
    rank.iterate(2);
    rank.content.answers[rank.rank] = rank.group.detect_share_change();
    rank.group.divide();
    rank.content.shares[rank.rank] = rank.group.own_budget()[k_fast].value;
    pthread_barrier_wait(&rank.content.three);
  };
  run_ranks(shared, body, 3);
  std::uint64_t sum = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(shared.content->answers[rank]) << rank;
    EXPECT_GE(shared.content->shares[rank], 5 * k_unit);
    sum += shared.content->shares[rank];
  }
  EXPECT_EQ(sum, 16 * k_unit);
}

TEST(RankGroup, OneRankPublishesAnew_ShareChangeIsDetectedOnce) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    divide(rank, curve_of(1, 0.05));
    rank.meet();
    rank.iterate(2);
    rank.content.answers[rank.rank] = rank.group.detect_share_change();
    rank.meet();
    if (rank.rank == 1) rank.group.publish_gains({curve_of(4, 0.05)});
    rank.meet();
    rank.iterate(3);
    if (rank.group.detect_share_change()) rank.content.answers[rank.rank] += 2;
    if (rank.group.detect_share_change()) rank.content.answers[rank.rank] += 4;
    rank.meet();
  });
  for (std::size_t rank = 0; rank < k_ranks; ++rank)
    EXPECT_EQ(shared.content->answers[rank], 2) << "once, after rank 1 became slower";
}

TEST(RankGroup, DamagedCurves_DivisionStaysWithinBudget) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    divide(rank, curve_of(1, 0.05));
    rank.meet();
    std::mt19937 random(rank.rank);
    for (std::uint32_t i = 2; i < 300; ++i) {
      if (rank.rank > 0) {
        std::vector<std::byte> bytes(random() % 400);
        for (auto& byte : bytes) byte = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
        rank.ledger.publish(memory::LedgerRecordKind::large, bytes);
      }
      rank.iterate(i);
      rank.group.divide();
      const auto share = rank.group.own_budget()[k_fast].value;
      if (share > 16 * k_unit) rank.content.answers[rank.rank] = 1;
    }
    rank.content.answers[rank.rank] += 2;  // has not crashed
    rank.meet();
  });
  for (const auto answer : shared.content->answers) EXPECT_EQ(answer, 2);
}

TEST(RankGroup, RankThatNeverBeginsALoop_IsWaitedForBriefly) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    if (rank.rank != 3) {
      rank.group.begin_loop("main");
      rank.iterate(0);
      rank.group.publish_gains({curve_of(1, 0.05)});
    }
    rank.meet();
    if (rank.rank != 3) {
      rank.iterate(1);
      rank.content.answers[rank.rank] = rank.group.poll_missing_gains();
      rank.clock.time += RankGroup::k_min_gain_timeout;
      rank.content.answers[rank.rank] += 2 * rank.group.poll_missing_gains();
      rank.group.divide();
      rank.content.shares[rank.rank] = rank.group.own_budget()[k_fast].value;
    }
    rank.meet();
  });
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(shared.content->answers[rank], 1) << "waits, but not for long";
    EXPECT_GE(shared.content->shares[rank], 5 * k_unit);
  }
}

TEST(RankGroup, OtherLoop_IsNotMember) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    rank.group.begin_loop(rank.rank < 2 ? "main" : "other");
    rank.meet();
    rank.iterate(0);
    rank.content.answers[rank.rank] = static_cast<int>(rank.group.num_members());
    rank.meet();
  });
  for (const auto members : shared.content->answers) EXPECT_EQ(members, 2);
}

TEST(RankGroup, ProfileRequest_ReachesEachOtherRankOnce) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    begin(rank);
    if (rank.rank == 2) rank.group.request_profile();
    rank.meet();
    auto& answer = rank.content.answers[rank.rank];
    for (std::uint32_t iteration = 1; iteration < 5; ++iteration) {
      rank.iterate(iteration);
      answer += rank.group.take_profile_request();
    }
    rank.meet();
  });
  EXPECT_EQ(shared.content->answers, (std::array<int, k_ranks>{1, 1, 0, 1}));
}

TEST(RankGroup, RequestsOfTheSameChange_AreOne) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    begin(rank);
    rank.group.request_profile();
    rank.meet();
    for (std::uint32_t iteration = 1; iteration < 5; ++iteration) {
      rank.iterate(iteration);
      rank.content.answers[rank.rank] += rank.group.take_profile_request();
    }
    rank.meet();
  });
  EXPECT_EQ(shared.content->answers, (std::array<int, k_ranks>{}));
}

TEST(RankGroup, LowestRankWithPlan_Leads) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    rank.group.begin_loop("main");
    rank.group.set_status(rank.rank == 0   ? PlanStatus::none
                          : rank.rank == 1 ? PlanStatus::suspended
                                           : PlanStatus::validating);
    rank.meet();
    rank.iterate(0);
    const auto leader = rank.group.leader_status();
    rank.content.answers[rank.rank] = leader ? static_cast<int>(*leader) : -1;
    rank.meet();
  });
  constexpr auto k_suspended = static_cast<int>(PlanStatus::suspended);
  EXPECT_EQ(shared.content->answers, (std::array<int, k_ranks>{-1, -1, k_suspended, k_suspended}));
}

TEST(RankGroup, RankThatIteratesAtAnotherPace_HasNoLeader) {
  SharedByRanks shared(k_ranks);
  run_ranks(shared, [&](RankProcess& rank) {
    rank.group.begin_loop("main");
    rank.group.set_status(PlanStatus::accepted);
    rank.meet();
    for (std::uint32_t iteration = 0; iteration < 10; ++iteration) {
      rank.iterate(rank.rank == 3 ? 5 * iteration : iteration);
      rank.meet();
    }
    rank.iterate(rank.rank == 3 ? 50 : 10);
    rank.content.answers[rank.rank] = rank.group.leader_status().has_value();
    rank.meet();
  });
  EXPECT_EQ(shared.content->answers, (std::array<int, k_ranks>{0, 1, 1, 0}));
}

}  // namespace
}  // namespace terrace::strategy
