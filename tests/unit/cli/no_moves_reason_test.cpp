// Tests the reasons for no moves with journals that state them.
#include <gtest/gtest.h>

#include "../profile/store_fixture.hpp"
#include "cli/job_summary.hpp"
#include "core/journal.hpp"
#include "profile/records.hpp"
#include "profile/store/store.hpp"

namespace terrace::cli {
namespace {

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
      reason(profile::NoteRecord{"warning", "no plan was made, data stays where it is: it has no room", {0.5}}),
      "it has no room");
}

}  // namespace
}  // namespace terrace::cli
