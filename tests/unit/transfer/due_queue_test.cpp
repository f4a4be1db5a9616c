// Transfers that are asked for before they are due, on real memory. A clock that counts its calls decides when.
#include <vector>

#include "move_queue_fixture.hpp"

namespace terrace::transfer {
namespace {

constexpr double k_far = 1e9;  // further than the clock ever counts here

std::vector<ChunkId> chunks_of(const std::vector<TransferResult>& results) {
  std::vector<ChunkId> chunks;
  for (const auto& result : results) chunks.push_back(result.chunk);
  return chunks;
}

// The first may begin only when the clock has come so far; the second, which might at once, waits behind it.
// Nobody waits by ticket, which would make them due.
TEST_F(MoveQueueTest, BeginsNothingBeforeItIsDue) {
  start(2, 2);
  constexpr double k_due = 200;
  mover_->submit({0, 0, {{k_due}}});
  mover_->submit({1, 0});
  std::vector<TransferResult> results;
  while (results.size() < 2) {
    mover_->limit_rate(1);  // it looks at the clock again
    for (const auto& result : mover_->completions()) results.push_back(result);
  }
  EXPECT_EQ(chunks_of(results), (std::vector<ChunkId>{0, 1}));
  for (const auto& result : results) EXPECT_GE(result.begun.value, k_due);
}

TEST_F(MoveQueueTest, BeginsAllInOrderWhenHastened) {
  start(4, 2);
  mover_->submit({0, 0, {k_never}});
  mover_->submit({1, 0, {{k_far}}});
  mover_->submit({0, 1, {{k_far}}});
  const auto last = mover_->submit({2, 0, {k_never}});
  EXPECT_FALSE(mover_->done(last));
  mover_->hasten();
  std::vector<TransferResult> results;
  while (results.size() < 4)
    for (const auto& result : mover_->completions()) results.push_back(result);
  EXPECT_EQ(chunks_of(results), (std::vector<ChunkId>{0, 1, 0, 2}));
  for (const auto& result : results) EXPECT_FALSE(result.refused) << "the third made room for the fourth";
}

// What is behind what somebody waits for stays as it was.
TEST_F(MoveQueueTest, BeginsWhatSomebodyWaitsForAndWhatIsBefore) {
  start(3, 3);
  mover_->submit({0, 0, {k_never}});
  const auto second = mover_->submit({1, 0, {{k_far}}});
  const auto third = mover_->submit({2, 0, {{k_far}}});
  mover_->wait(second);
  EXPECT_EQ(chunks_of(mover_->completions()), (std::vector<ChunkId>{0, 1}));
  EXPECT_FALSE(mover_->done(third));
}

TEST_F(MoveQueueTest, ForgetsWhatIsNotDue) {
  start(2, 2);
  mover_->submit({0, 0, {k_never}});
  const auto second = mover_->submit({1, 0});
  mover_->forget(0, 1);
  mover_->wait(second);
  const auto results = mover_->completions();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].refused);
  EXPECT_EQ(place(1), 0);
}

// Each at a rate of its own: they cannot share a call of the kernel's.
TEST_F(MoveQueueTest, CarriesThoseOfOtherRatesByThemselves) {
  start(3, 3);
  clock_.shut();
  mover_->submit({2, 1});  // holds the thread, until all are there
  clock_.await_arrival();
  mover_->submit({0, 0, {{}, 0.5}});
  mover_->submit({1, 0, {{}, 0.9}});
  mover_->submit({2, 0, {{}, 0.9}});
  clock_.open();
  std::vector<TransferResult> results;  // nobody waits by ticket: who does ends all rates
  while (results.size() < 4)
    for (const auto& result : mover_->completions()) results.push_back(result);
  EXPECT_LE(results[1].done, results[2].begun);
}

}  // namespace
}  // namespace terrace::transfer
