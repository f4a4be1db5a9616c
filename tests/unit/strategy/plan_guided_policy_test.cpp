// Tests the effect of plans on the eviction of out-of-core data, and that a losing plan is undone.
#include "strategy/spill/plan_guided_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "strategy/spill/belady_policy.hpp"
#include "strategy/spill/plan_ab_test.hpp"

namespace terrace::strategy {
namespace {

using transfer::PageState;
using transfer::Preference;

// A program that works a given share of each second, with the plan and without.
struct Worker {
  double with, without;
  double coming_round = 0;  // how long touches say little after the plan
  double now = 10, worked = 3, known_at = 0;

  // Returns how long the plan was in force.
  double run(PlanAbTest& trial, double seconds) {
    constexpr double k_step = 1.0 / 256;
    double in_force = 0;
    for (const auto end = now + seconds; now < end; now += k_step) {
      const bool known = now >= known_at;
      trial.record(Seconds{now}, Seconds{worked}, known);
      if (trial.is_in_force()) {
        in_force += k_step;
        known_at = now + coming_round;
      }
      worked += k_step * (trial.is_in_force() ? with : known ? without : std::min(with, without));
    }
    return in_force;
  }
};

constexpr double k_half_period = PlanAbTest::k_half_period.value;

// Both halves of a period without the plan, and one with it, in seconds of the clock.
double pair(const Worker& worker) { return 2 * k_half_period / worker.without + 2 * k_half_period / worker.with; }

TEST(PlanAbTest, ClearLoss_IsUndoneAfterOnePeriodEach) {
  PlanAbTest trial;
  Worker worker{.with = 0.4, .without = 0.8};
  EXPECT_FALSE(trial.is_in_force()) << "first comes what it is compared with";
  EXPECT_NEAR(worker.run(trial, pair(worker) + 0.1), 2 * k_half_period / 0.4, 0.05);
  EXPECT_TRUE(trial.is_undone());
  EXPECT_FALSE(trial.is_in_force());
  ASSERT_TRUE(trial.gain());
  EXPECT_NEAR(*trial.gain(), 1 - 0.8 / 0.4, 0.1) << "twice as long is a loss of all the time";
  EXPECT_EQ(worker.run(trial, 60), 0) << "for good";
}

TEST(PlanAbTest, SmallLoss_IsUndoneAfterTwoPeriodsEach) {
  PlanAbTest trial;
  Worker worker{.with = 0.65, .without = 0.8};
  worker.run(trial, pair(worker) + 0.1);
  EXPECT_FALSE(trial.is_undone());
  worker.run(trial, pair(worker) + 0.1);
  EXPECT_TRUE(trial.is_undone());
}

// The effect of a wrong plan on the histories must not make it look better.
TEST(PlanAbTest, BaselinePeriod_CountsOnceHistoriesRepeat) {
  PlanAbTest trial;
  Worker worker{.with = 0.65, .without = 0.8, .coming_round = 4};
  worker.run(trial, 2 * pair(worker) + worker.coming_round + 0.2);
  EXPECT_TRUE(trial.is_undone());
}

TEST(PlanAbTest, HistoriesNeverRepeat_WaitIsBounded) {
  PlanAbTest trial;
  Worker worker{.with = 0.4, .without = 0.8};
  worker.known_at = 1e9;
  worker.with = worker.without = 0.5;
  EXPECT_GT(worker.run(trial, (PlanAbTest::k_max_settling + 3) * k_half_period / 0.5), 0.5 * k_half_period);
}

TEST(PlanAbTest, Gain_KeepsPlanAndDoublesPauses) {
  PlanAbTest trial;
  Worker worker{.with = 0.8, .without = 0.4};
  worker.run(trial, 2 * pair(worker) + 0.1);
  EXPECT_FALSE(trial.is_undone());
  ASSERT_TRUE(trial.gain());
  EXPECT_NEAR(*trial.gain(), 0.5, 0.05);
  EXPECT_GT(worker.run(trial, 200 * k_half_period), 150 * k_half_period);
  worker.with = 0.2;
  worker.run(trial, 900 * k_half_period);
  EXPECT_TRUE(trial.is_undone()) << "programs do other things later";
}

TEST(PlanAbTest, LossWithinNoise_KeepsPlan) {
  PlanAbTest trial;
  Worker worker{.with = 0.75, .without = 0.8};
  worker.run(trial, 100 * k_half_period);
  EXPECT_FALSE(trial.is_undone());
  EXPECT_TRUE(trial.gain());
}

// A machine that was busy in one period does not count against the plan.
TEST(PlanAbTest, SingleLoss_KeepsPlan) {
  PlanAbTest trial;
  Worker worker{.with = 0.65, .without = 0.8};
  worker.run(trial, pair(worker) + 0.1);
  worker.with = 0.8;
  worker.run(trial, 100 * k_half_period);
  EXPECT_FALSE(trial.is_undone());
}

// A program with two halves of data: one is swept eight times in each iteration, the other once. Memory holds
// little more than one half; waiting for the disk takes as long as ten uses.
class Program {
 public:
  explicit Program(transfer::ReplacementPolicy& policy) : next_(policy) {}

  // Fetches that a thread waited for.
  std::size_t iterate() {
    const auto before = waited_;
    for (int sweep = 0; sweep < 8; ++sweep)
      for (ChunkId chunk = 0; chunk < k_half; ++chunk) use(chunk);
    for (ChunkId chunk = k_half; chunk < 2 * k_half; ++chunk) use(chunk);
    return waited_ - before;
  }

  static constexpr ChunkId k_half = 24;

 private:
  static constexpr std::size_t k_room = k_half + 4;
  static constexpr double k_use = 1e-3, k_load = 10e-3;

  void use(ChunkId chunk) {
    if (where_[chunk] != PageState::mapped) {
      transfer::SpillStatistics measured;
      next_.on_access(chunk, 0, Seconds{worked_});
      worked_ = 0;
      if (where_[chunk] == PageState::swapped_out) {
        ++waited_;
        now_ += k_load;
      }
      if (where_[chunk] != PageState::unmapped_resident) make_room(chunk);
      set(chunk, PageState::mapped);
      measured.now = Seconds{now_};
      measured.room = k_room;
      next_.predicted(measured);
    }
    while (const auto mark = next_.next_sentinel())
      if (where_[*mark] == PageState::mapped) set(*mark, PageState::unmapped_resident);
    now_ += k_use;
    worked_ += k_use;
    // The disk fetches one chunk while four are used.
    if (++uses_ % 4 != 0) return;
    if (const auto load = next_.next_prefetch(); load && make_room(load->chunk, load->when))
      set(load->chunk, PageState::unmapped_resident);
  }
  bool make_room(ChunkId chunk, double when = -1) {
    if (static_cast<std::size_t>(std::ranges::count_if(where_, [](PageState one) {
          return one == PageState::mapped || one == PageState::unmapped_resident;
        })) < k_room)
      return true;
    const auto victim = next_.next_victim();
    if (!victim || victim->when <= when || victim->chunk == chunk) return false;
    set(victim->chunk, PageState::swapped_out);
    return true;
  }
  void set(ChunkId chunk, PageState to) {
    where_[chunk] = to;
    next_.on_state_change(chunk, to);
  }

  transfer::ReplacementPolicy& next_;
  std::vector<PageState> where_ = std::vector<PageState>(std::size_t{2} * k_half, PageState::empty);
  std::size_t waited_ = 0, uses_ = 0;
  double now_ = 0, worked_ = 0;
};

std::vector<std::size_t> waits(transfer::ReplacementPolicy& policy, int iterations) {
  Program program(policy);
  std::vector<std::size_t> found;
  for (int i = 0; i < iterations; ++i) found.push_back(program.iterate());
  return found;
}

TEST(PlanGuidedPolicy, NoPreferences_EqualsBeladyPolicy) {
  BeladyPolicy alone;
  PlanGuidedPolicy steered(std::make_unique<BeladyPolicy>());
  EXPECT_EQ(waits(alone, 12), waits(steered, 12));
  EXPECT_FALSE(steered.verdict().gain) << "there is nothing to try";
}

TEST(PlanGuidedPolicy, WrongPlan_IsUndoneThenEqualsBeladyPolicy) {
  BeladyPolicy alone;
  const auto usual = waits(alone, 200);
  PlanGuidedPolicy wrong(std::make_unique<BeladyPolicy>());
  wrong.prefer(0, Program::k_half, Preference::evict_first);
  wrong.prefer(Program::k_half, Program::k_half, Preference::keep);
  const auto found = waits(wrong, 200);
  EXPECT_TRUE(wrong.verdict().undone);
  ASSERT_TRUE(wrong.verdict().gain);
  EXPECT_LT(*wrong.verdict().gain, -PlanAbTest::k_noise);
  EXPECT_GT(*std::max_element(found.begin(), found.end()), 2 * usual.back())
      << "it did harm while it was in force";
  EXPECT_LE(found.back(), usual.back() + 2);
}

TEST(PlanGuidedPolicy, RightPlan_KeepsPreferredChunks) {
  PlanGuidedPolicy right(std::make_unique<BeladyPolicy>());
  right.prefer(0, Program::k_half, Preference::keep);
  right.prefer(Program::k_half, Program::k_half, Preference::evict_first);
  const auto found = waits(right, 120);
  EXPECT_FALSE(right.verdict().undone);
  EXPECT_LE(found.back(), std::size_t{Program::k_half}) << "the half that is swept eight times stays";
}

// Evicts a chunk, and runs the program through a period without the plan.
void put_in_force(PlanGuidedPolicy& steered) {
  steered.on_state_change(0, PageState::swapped_out);
  constexpr auto k_long = PlanAbTest::k_max_settling * PlanAbTest::k_half_period;
  transfer::SpillStatistics measured;
  for (ChunkId chunk = 8; chunk < 12; ++chunk) {
    steered.on_access(chunk, 0, k_long);
    measured.now += k_long;
    steered.predicted(measured);
  }
}

// After a block was freed, the plan's preferences do not apply to the next block at its address.
TEST(PlanGuidedPolicy, ReusedChunk_HasItsNewPreference) {
  PlanGuidedPolicy steered(std::make_unique<BeladyPolicy>());
  steered.prefer(0, 2, Preference::evict_first);
  for (ChunkId chunk = 0; chunk < 8; ++chunk) {
    steered.on_access(chunk, 0, Seconds{1e-3});
    steered.on_state_change(chunk, PageState::mapped);
  }
  put_in_force(steered);
  steered.on_state_change(0, PageState::mapped);
  const auto first = steered.next_victim();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->chunk, 0U);
  steered.on_state_change(0, PageState::mapped);
  steered.prefer(0, 2, Preference::keep);
  const auto next = steered.next_victim();
  ASSERT_TRUE(next);
  EXPECT_GT(next->chunk, 1U);
}

}  // namespace
}  // namespace terrace::strategy
