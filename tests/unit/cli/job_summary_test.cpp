// Tests the summary of several processes with journals whose figures are computed by hand, and the reasons for no
// moves with journals that state them.
#include "cli/job_summary.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../profile/store_fixture.hpp"
#include "core/journal.hpp"
#include "profile/records.hpp"
#include "profile/store/store.hpp"

namespace terrace::cli {
namespace {

class JobSummaryTest : public profile::StoreTest {
 protected:
  // Writes a process whose iterations with the plan took `with` instead of `without`; 0: no plan was compared.
  void write(std::uint32_t process, double without, double with, std::uint32_t iterations, bool undone = false,
             const std::string& backend = "real", bool ends = true, bool has_loop = true, std::int32_t rank = -1,
             bool is_noise = false) {
    journals_.push_back(path(std::to_string(process) + ".journal"));
    Journal journal(journals_.back());
    profile::RunRecord run;
    run.process = process;
    run.program = "/opt/bin/app";
    run.backend = backend;
    run.rank = rank;
    run.ranks = rank < 0 ? 0 : 8;
    append(journal, run);
    if (has_loop) append(journal, profile::LoopRecord{"main", {0}});
    if (with > 0)
      append(journal, profile::ProofRecord{
                          {1}, {without}, {with}, 4, iterations, {without}, {without / 2}, undone, is_noise});
    if (has_loop) append(journal, profile::LoopEndRecord{{1}, iterations, iterations});
    if (ends) append(journal, profile::EndRecord{{1}, "exit"});
  }
  [[nodiscard]] std::optional<JobSummary> job() const {
    return read_job_summary(profile::merge_journals(journals_, path("job.terrace")).path);
  }

 private:
  std::vector<std::string> journals_;
};

TEST_F(JobSummaryTest, SeveralProcesses_TimesAreSummedAndTheWorstIsNamed) {
  write(10, 2, 1, 30);    // gains a half
  write(11, 1, 1.1, 10);  // loses a tenth
  write(12, 0, 0, 5);     // nothing was compared
  const auto found = job();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->processes, 3);
  EXPECT_EQ(found->proven, 2);
  EXPECT_NEAR(*found->gained, 1 - (30 * 1 + 10 * 1.1) / (30 * 2 + 10 * 1), 1e-12);
  EXPECT_NEAR(found->worst, -0.1, 1e-12);
  EXPECT_EQ(format_gain(*found), "gained 41 % (predicted 50 %), worst: app (11) lost 10 %");
  const auto json = nlohmann::json::parse(json_of(*found));
  EXPECT_EQ(json["worst"]["process"], 11);
  EXPECT_EQ(json["proven"], 2);
}

TEST_F(JobSummaryTest, RanksOfMpiJob_TheWorstIsNamedByItsRank) {
  write(10, 2, 1, 30, false, "real", true, true, 0);
  write(11, 1, 1.1, 10, false, "real", true, true, 3);
  const auto found = job();
  ASSERT_TRUE(found);
  EXPECT_EQ(format_gain(*found), "gained 41 % (predicted 50 %), worst: rank 3 lost 10 %");
  EXPECT_EQ(found->ranks, 2);
  EXPECT_EQ(nlohmann::json::parse(json_of(*found))["worst"]["rank"], 3);
}

TEST_F(JobSummaryTest, OnlyNoise_IsNoGain) {
  write(10, 2, 1.9, 30, false, "real", true, true, 0, true);
  write(11, 2, 1.8, 30, false, "real", true, true, 1, true);
  const auto found = job();
  ASSERT_TRUE(found);
  EXPECT_EQ(format_gain(*found), "no gain beyond noise (predicted 50 %)");
  EXPECT_EQ(nlohmann::json::parse(json_of(*found))["noise"], 2);
}

TEST_F(JobSummaryTest, UndoneAndUnfinished_AreReported) {
  write(10, 1, 1.5, 10, true);
  write(11, 1, 1.2, 10, true, "real", false);
  const auto found = job();
  ASSERT_TRUE(found);
  EXPECT_EQ(format_unfinished(*found, 0), "app (11) did not end by itself");
  EXPECT_EQ(format_unfinished(*found, 11), "");
  EXPECT_EQ(format_gain(*found), "lost 35 % (predicted 50 %), worst: app (10) lost 50 %, undone in 2 of 2");
}

// A child that a shell starts and abandons has no loop.
TEST_F(JobSummaryTest, UnfinishedWithoutLoop_IsOmitted) {
  write(10, 0, 0, 5);
  write(11, 0, 0, 5, false, "real", false, false);
  EXPECT_EQ(format_unfinished(job().value(), 0), "");
  write(12, 0, 0, 5, false, "real", false);
  write(13, 0, 0, 5, false, "real", false);
  EXPECT_EQ(format_unfinished(job().value(), 0), "app (12) and 1 more did not end by themselves");
}

// A rank counts without a loop, too.
TEST_F(JobSummaryTest, UnfinishedRanks_AreListed) {
  write(10, 0, 0, 5, false, "real", true, true, 0);
  write(11, 0, 0, 5, false, "real", false, false, 1);
  EXPECT_EQ(format_unfinished(job().value(), 0), "rank 1 did not end by itself");
  EXPECT_EQ(format_unfinished(job().value(), 11), "");
  write(13, 0, 0, 5, false, "real", false, true, 3);
  EXPECT_EQ(format_unfinished(job().value(), 0), "ranks 1 and 3 did not end by themselves");
  write(12, 0, 0, 5, false, "real", false, true, 2);
  EXPECT_EQ(format_unfinished(job().value(), 0), "ranks 1, 2 and 3 did not end by themselves");
  for (const std::int32_t rank : {4, 5})
    write(10 + static_cast<std::uint32_t>(rank), 0, 0, 5, false, "real", false, true, rank);
  EXPECT_EQ(format_unfinished(job().value(), 0), "rank 1 and 4 more did not end by themselves");
}

TEST_F(JobSummaryTest, NoProof_ReportsNoGain) {
  write(10, 0, 0, 10);
  write(11, 0, 0, 10);
  const auto found = job();
  ASSERT_TRUE(found);
  EXPECT_EQ(format_gain(*found), "");
  EXPECT_TRUE(nlohmann::json::parse(json_of(*found))["gained"].is_null());
}

TEST_F(JobSummaryTest, OneProcessOrVirtualTime_HasNoSummary) {
  write(10, 2, 1, 10);
  EXPECT_FALSE(job());
  write(11, 2, 1, 10, false, "virtual");
  EXPECT_FALSE(job());
}

class NoMovesReason : public profile::StoreTest {
 protected:
  // Returns the reason for a run whose journal has these records.
  template <class... Records>
  [[nodiscard]] std::string reason(const Records&... records) {
    const auto file = path("1.journal");
    {
      Journal journal(file);
      append(journal, profile::RunRecord{});
      append(journal, profile::LoopRecord{"main", {0}});
      (append(journal, records), ...);
      append(journal, profile::LoopEndRecord{{1}, 14, 14});
      append(journal, profile::EndRecord{{1}, "exit"});
    }
    return reason_for_no_moves(profile::merge_journals({file}, path("job.terrace")).path, 1, "near");
  }
};

TEST_F(NoMovesReason, TooShort_SaysSo) { EXPECT_EQ(reason(), "it ended before enough was learned for a plan"); }

TEST_F(NoMovesReason, PlanWithoutMoves_SaysSo) {
  EXPECT_EQ(reason(profile::PlanRecord{Plan{}, {0.5}, "learned in the first iteration"}),
            "no plan gains more than its moves cost");
}

TEST_F(NoMovesReason, NoPlan_ReturnsTheNote) {
  EXPECT_EQ(
      reason(profile::NoteRecord{"warning", "no plan was made, data stays where it is: it has no space", {0.5}}),
      "it has no space");
}

}  // namespace

}  // namespace terrace::cli
