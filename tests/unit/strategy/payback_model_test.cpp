// Tests whether profiling a loop, and moving data for its plan, pays: for a program with a few chunks in slow
// memory and a manual clock, on a machine whose copier has a price.
#include "strategy/learning/payback_model.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "two_places.hpp"

namespace terrace::strategy {
namespace {

class HandClock final : public Clock {
 public:
  Seconds now() override { return time; }
  void charge(Seconds cost) override { time += cost; }
  [[nodiscard]] bool is_exact() const override { return exact; }
  Seconds time;
  bool exact = false;
};

constexpr double k_piece_stall = 20e-6;

machine::Machine with_a_copier() {
  auto parts = two_latencies().parts();
  machine::CopierPrice copier;
  copier.name = "priced";
  copier.stall = Seconds{k_piece_stall};
  copier.threads = 1;
  copier.lines = 1e6;  // the paths decide
  parts.copiers = {copier};
  return machine::Machine(parts);
}

struct LoopingProgram {
  // Two samples per interval add about 580 ns.
  explicit LoopingProgram(double sample_interval = 5.8e-6) {
    context.machine = &machine;
    context.chunks = &chunks;
    context.clock = &clock;
    context.sample_interval = Seconds{sample_interval};
    for (std::uint32_t i = 0; i < 4; ++i) chunks.add(0, 1 << 20, 0, 0, k_slow);
  }
  void begin(PaybackModel& payback, bool is_detected, std::uint32_t iterations_before) {
    LoopBegun event{"loop"};
    event.is_detected = is_detected;
    event.iterations_before = iterations_before;
    payback.on_loop_begin(event);
    payback.on_iteration_begin(0, false);
  }
  // Runs iterations until the first one that may be profiled. Returns its number.
  std::uint32_t run_until_learned(PaybackModel& payback, double iteration, std::uint32_t most = 1000) {
    for (std::uint32_t i = 0; i < most; ++i) {
      if (payback.may_profile()) return i;
      clock.time += Seconds{iteration};
      payback.on_iteration_begin(i + 1, false);
    }
    return most;
  }
  [[nodiscard]] static std::vector<ActiveMove> moves(ChunkId count) {
    std::vector<ActiveMove> all(count);
    for (ChunkId i = 0; i < count; ++i) {
      all[i].chunk = i;
      all[i].planned.to = k_fast;
    }
    return all;
  }

  machine::Machine machine = with_a_copier();
  memory::ChunkTable chunks;
  HandClock clock;
  Context context;
};

TEST(PaybackModel, CostOfMoves_PricedCopier_IsCopyAndStall) {
  LoopingProgram program;
  const PaybackModel payback(program.context);
  const auto moves = LoopingProgram::moves(2);
  EXPECT_NEAR(payback.cost_of(moves).value, 2 * ((1 << 20) / 10e9 + k_piece_stall), 1e-9);
}

TEST(PaybackModel, MovesOfDetectedLoop_GainOfIterationsSeen_MustPayThereAndBack) {
  LoopingProgram program;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  program.begin(payback, true, 8);
  const auto moves = LoopingProgram::moves(3);
  const auto both = 2 * payback.cost_of(moves);
  EXPECT_TRUE(payback.pays(1.01 * both / 8, moves));
  EXPECT_FALSE(payback.pays(0.99 * both / 8, moves)) << "eight more iterations do not pay";
  EXPECT_FALSE(payback.pays(Seconds{0}, moves));
}

// The mover takes 0.1 ms for each of three chunks, so that five of 8 iterations of 0.1 ms remain to gain in.
TEST(PaybackModel, MovesOfDetectedLoop_GainNothingUntilDone) {
  LoopingProgram program;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  program.begin(payback, true, 7);
  const double iteration = 0.1e-3;
  program.clock.time += Seconds{iteration};
  payback.on_iteration_begin(1, false);
  const auto moves = LoopingProgram::moves(3);
  const auto left = 8 - 3 * (1 << 20) / 10e9 / iteration;
  const auto both = 2 * payback.cost_of(moves);
  EXPECT_TRUE(payback.pays(1.01 * both / left, moves));
  EXPECT_FALSE(payback.pays(0.99 * both / left, moves));
}

// The moves cost five times the allowed expected loss. The loop ends before they have paid with probability
// 1 / (1 + n gain / cost), which therefore has to be a fifth.
TEST(PaybackModel, MovesOfDetectedLoop_ExpectedLoss_StaysBelowItsShareOfTheRun) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, true, 8);
  const auto moves = LoopingProgram::moves(3);
  const auto cost = payback.cost_of(moves);
  program.clock.time = 200 * cost / 5;
  const auto lost = [&](Seconds gain) { return cost / (1 + 8 * gain / cost); };
  for (const double share : {0.5, 1.0, 2.0, 4.0}) {
    const auto gain = share * cost / 2;
    const bool bounded = lost(gain).value <= 0.005 * program.clock.time.value + 1e-15;
    EXPECT_EQ(payback.pays(gain, moves), bounded && 8 * gain >= 2 * cost) << share;
  }
  EXPECT_TRUE(payback.pays(0.501 * cost, moves)) << "five times the cost in eight iterations";
  EXPECT_FALSE(payback.pays(0.499 * cost, moves));
  EXPECT_NEAR(payback.pays_after(0.499 * cost, moves, true), 2 / 0.499, 1e-9) << "in steps nothing is risked";
}

// 0.5 % of the run so far is a fifth of the moves' cost.
TEST(PaybackModel, StepOfDetectedLoop_MayCostItsShareAndTheGain) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, true, 8);
  const auto cost = payback.cost_of(LoopingProgram::moves(3));
  program.clock.time = 200 * cost / 5;
  const auto gain = 0.5 * cost;
  EXPECT_TRUE(payback.pays({cost, gain}));
  EXPECT_FALSE(payback.pays({cost, 0.24 * cost})) << "eight times that is less than there and back";
  EXPECT_TRUE(payback.may_risk({0.199 * cost, 0.1 * cost}, {}));
  EXPECT_FALSE(payback.may_risk({0.201 * cost, 0.1 * cost}, {}));
  EXPECT_TRUE(payback.may_risk({cost, 0.1 * cost}, 0.801 * cost));
  EXPECT_FALSE(payback.may_risk({0.1 * cost, gain}, -0.2 * cost)) << "the plan is behind by its share";
  // The cost is lost with probability 1 / (1 + 8 * gain / cost); it may exceed the share if that is a twentieth.
  EXPECT_TRUE(payback.may_risk({cost, 19.1 / 8 * cost}, {}));
  EXPECT_FALSE(payback.may_risk({cost, 18.9 / 8 * cost}, {}));
}

TEST(PaybackModel, DetectedLoop_KnownIterationTime_IsProfiledInFirstIteration) {
  LoopingProgram program;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  LoopBegun event{"loop"};
  event.is_detected = true;
  event.iterations_before = 2;
  event.iteration_time = Seconds{1e-3};
  payback.on_loop_begin(event);
  payback.on_iteration_begin(0, false);
  EXPECT_TRUE(payback.may_profile());
  event.iteration_time = {};
  payback.on_loop_begin(event);
  payback.on_iteration_begin(0, false);
  EXPECT_FALSE(payback.may_profile()) << "what one takes is unknown";
}

TEST(PaybackModel, CostOfMoves_NoCoreForTheMover_IsWithItsCalls) {
  auto parts = with_a_copier().parts();
  parts.copiers.front().call = Seconds{1e-3};
  parts.initiators.front().cores = 8;
  LoopingProgram program;
  program.machine = machine::Machine(parts);
  const PaybackModel payback(program.context);
  const auto moves = LoopingProgram::moves(1);
  const auto beside = payback.cost_of(moves);
  program.context.cores = 8;
  EXPECT_NEAR((payback.cost_of(moves) - beside).value, 1e-3, 1e-9);
}

TEST(PaybackModel, WithdrawnPlan_LossOfIterationsSeen_MustPayTheMovesBack) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, true, 8);
  const auto back = payback.cost_of(LoopingProgram::moves(2));
  const std::vector<transfer::TransferRequest> moves{{0, k_fast}, {1, k_fast}};
  EXPECT_TRUE(payback.pays_to_end(1.01 * back / 8, moves));
  EXPECT_FALSE(payback.pays_to_end(0.99 * back / 8, moves));
  EXPECT_FALSE(payback.pays_to_end(Seconds{0}, {}));
}

// All samples would take 0.1 ms. That exceeds 0.5 % of the past 11 ms and the expected 3 ms, less the scan of
// 1,024 page references.
TEST(PaybackModel, DetectedLoop_BudgetBelowAllSamples_IsProfiledWithFewer) {
  LoopingProgram program;
  program.context.can_thin = true;
  program.clock.time = Seconds{10e-3};
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  EXPECT_EQ(program.run_until_learned(payback, 1e-3), 1);
  EXPECT_NEAR(payback.thinning(), 0.1e-3 / (0.005 * 14e-3 - 1024 * 42e-9), 0.02);
}

// An iteration of 1 ms has 172 samples at most.
TEST(PaybackModel, DetectedLoop_FewerSamplesThanChunks_IsProfiledForSeveralIterations) {
  LoopingProgram program;
  for (int i = 0; i < 200; ++i) program.chunks.add(0, 4096, 0, 0, k_slow);
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  EXPECT_EQ(program.run_until_learned(payback, 1e-3), 1);
  EXPECT_EQ(payback.iterations(), 2);
  EXPECT_EQ(payback.thinning(), 1);
}

// Samples of 2,004 chunks take 12 iterations, which are expected only after as many.
TEST(PaybackModel, DetectedLoop_ProfilingExceedsLoopSoFar_IsPostponed) {
  LoopingProgram program;
  for (int i = 0; i < 2000; ++i) program.chunks.add(0, 4096, 0, 0, k_slow);
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  EXPECT_EQ(program.run_until_learned(payback, 1e-3), 12 - 2);
  EXPECT_EQ(payback.iterations(), 12);
}

TEST(PaybackModel, DetectedLoop_SmallBudgetAndManyChunks_WaitsForASampleOfEach) {
  LoopingProgram program;
  program.context.can_thin = true;
  for (int i = 0; i < 200; ++i) program.chunks.add(0, 4096, 0, 0, k_slow);
  program.clock.time = Seconds{12e-3};
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  EXPECT_GT(program.run_until_learned(payback, 1e-3), 1);
  EXPECT_GE(payback.iterations() * 1e-3 / (5.8e-6 * payback.thinning()), 204);
}

TEST(PaybackModel, MarkedLoop_FirstIteration_IsLearnedAndPlannedInAnyCase) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, false, 0);
  EXPECT_TRUE(payback.may_profile());
  EXPECT_TRUE(payback.pays(Seconds{1e-9}, LoopingProgram::moves(1)));
}

TEST(PaybackModel, MarkedLoopThatHasToPay_MovesBeforeItHasIterations_DoNotPay) {
  LoopingProgram program;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context, true);
  program.begin(payback, false, 0);
  const auto moves = LoopingProgram::moves(1);
  EXPECT_FALSE(payback.pays(Seconds{1}, moves));
  program.clock.time += Seconds{1e-3};
  payback.on_iteration_begin(1, false);
  const auto both = 2 * payback.cost_of(moves);
  const auto left = 1 - (1 << 20) / 10e9 / 1e-3;  // of the one that is expected, once the move is done
  EXPECT_TRUE(payback.pays(1.01 * both / left, moves));
  EXPECT_FALSE(payback.pays(0.99 * both / left, moves));
}

// Two samples every 5.8 us add 10 % to the time: one of twenty adds 0.5 %.
TEST(PaybackModel, MarkedLoopThatHasToPay_FirstIteration_IsLearnedWithinTheShareOfAnyTime) {
  LoopingProgram program;
  program.context.can_thin = true;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context, true);
  program.begin(payback, false, 0);
  EXPECT_TRUE(payback.may_profile());
  EXPECT_NEAR(payback.thinning(), 20, 0.1);
}

// Scanning 1,024 pages takes 43 us, which is 0.5 % of 8.6 ms.
TEST(PaybackModel, MarkedLoopThatHasToPay_ReferencesAboveTheShareOfTheRun_FirstIterationIsNotLearned) {
  for (const auto& [passed, learns] : {std::pair{8.5e-3, false}, std::pair{8.7e-3, true}}) {
    LoopingProgram program;
    program.context.can_thin = true;
    program.clock.time = Seconds{passed};
    PaybackModel payback(program.context, true);
    program.begin(payback, false, 0);
    EXPECT_EQ(payback.may_profile(), learns) << passed;
  }
}

// One sample every 116 us for 204 chunks takes 24 iterations of about 1 ms. 0.5 % of 16 ms allows one more: each
// costs 5 us of samples and 51 us of scanning references.
TEST(PaybackModel, MarkedLoopThatHasToPay_FewSamplesInItsFirstIteration_IsLearnedOnWithinTheBudget) {
  const auto iterations = [](double passed) {
    LoopingProgram program;
    program.context.can_thin = true;
    for (int i = 0; i < 200; ++i) program.chunks.add(0, 4096, 0, 0, k_slow);
    program.clock.time = Seconds{passed};
    program.clock.exact = true;
    PaybackModel payback(program.context, true);
    program.begin(payback, false, 0);
    EXPECT_TRUE(payback.may_profile());
    program.clock.time += Seconds{1.056e-3};
    payback.on_iteration_begin(1, true);
    return payback.iterations();
  };
  EXPECT_EQ(iterations(1), 24);
  EXPECT_EQ(iterations(22e-3), 2);
  EXPECT_EQ(iterations(11e-3), 1);
}

TEST(PaybackModel, DetectedLoop_BegunAgainWithoutEvidence_IsStillAFoundOne) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  program.begin(payback, false, 0);
  EXPECT_FALSE(payback.may_profile());
  EXPECT_FALSE(payback.pays(Seconds{1e-9}, LoopingProgram::moves(1)));
}

// Sampling adds 10 % to an iteration. After 9 iterations, with 11 more expected, that is 0.5 %.
TEST(PaybackModel, DetectedLoop_SamplingAddsATenth_IsProfiledOnceThatIsHalfAPercentOfTheRun) {
  LoopingProgram program;
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  const auto first = program.run_until_learned(payback, 1e-3);
  EXPECT_EQ(first, 9);
  LoopingProgram late;
  late.clock.time = Seconds{1};  // set-up took long: a tenth of a millisecond is nothing
  PaybackModel soon(late.context);
  late.begin(soon, true, 2);
  EXPECT_EQ(late.run_until_learned(soon, 1e-3), 1) << "the first iteration shows what one takes";
}

// A loop that has taken 40 us so far cannot gain the cost of one move.
TEST(PaybackModel, ShortLoop_ExpectedTimeBelowOneMove_IsNotLearned) {
  LoopingProgram program;
  program.clock.time = Seconds{1};
  PaybackModel payback(program.context);
  program.begin(payback, true, 2);
  const auto first = program.run_until_learned(payback, 1e-6);
  const auto one_move = 2 * payback.cost_of(LoopingProgram::moves(1));
  const double samples = 24 * 0.1e-6;  // of as many iterations as have one for each chunk
  EXPECT_NEAR((first + 2) * 1e-6 * 0.75, one_move.value + samples, 2e-6) << "a quarter of the latency";
}

// For any sequence of loops, profiling costs at most 0.5 % of the run so far and of the expected time.
TEST(PaybackModel, ManyShortLoops_LearnedAgainAndAgain_StayWithinTheBudget) {
  LoopingProgram program;
  program.clock.time = Seconds{1e-2};
  PaybackModel payback(program.context);
  double learned = 0;
  for (int loop = 0; loop < 50; ++loop) {
    program.begin(payback, true, 2);
    for (std::uint32_t i = 0; i < 40; ++i) {
      const bool learns = payback.may_profile();
      program.clock.time += Seconds{learns ? 1.5e-3 : 1e-3};  // sampling takes more than its price says
      learned += learns ? 0.5e-3 : 0;
      payback.on_iteration_begin(i + 1, learns);
    }
  }
  EXPECT_GT(learned, 0);
  EXPECT_LT(learned, 0.006 * program.clock.time.value);
}

TEST(PaybackModel, PlanThatDidNotPay_LoopIsLearnedAgain_AfterTwiceAsManyIterations) {
  LoopingProgram program;
  program.clock.time = Seconds{10};
  PaybackModel payback(program.context);
  program.begin(payback, true, 6);
  const auto first = program.run_until_learned(payback, 1e-3);
  payback.postpone();
  EXPECT_FALSE(payback.may_profile());
  std::uint32_t again = first;
  while (!payback.may_profile()) {
    program.clock.time += Seconds{1e-3};
    payback.on_iteration_begin(++again, false);
  }
  EXPECT_EQ(again + 6, 2 * (first + 6));
}

}  // namespace
}  // namespace terrace::strategy
