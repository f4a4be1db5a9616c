// Tests the detection of main loops in programs whose loops are known: the iteration of the detection, the phases,
// and loops that must not be selected.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "loop_program.hpp"

namespace terrace::runtime {
namespace {

TEST(LoopFinder, TimeLoop_IsSelectedAtItsThirdIteration) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  // The set-up has a loop too, over memory that it accesses for the first time.
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.turn(1);
    program.run(9, 1, k_much, 100 * i);
  }
  for (int i = 0; i < 5; ++i) {
    program.turn(2);
    program.run(3, 2, k_much);
    program.run(4, 2, 3 * k_much);
    program.work(1000);
  }
  program.run(9, 0, 20 * k_much);
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 2", "f3", "f4", "f3", "f4", "f3", "f4", "end"}));
}

TEST(LoopFinder, KnownLoopAndPhases_BeginWithTheFirstIteration) {
  const auto run = [](Program& program) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      program.turn(1);
      program.run(9, 1, k_much, 100 * i);
    }
    for (int i = 0; i < 4; ++i) {
      program.turn(2);
      program.run(3, 2, k_much);
      program.call(4, 2);
      program.run(3, 0, 10);  // nested in another phase
      program.work(3 * k_much);
      program.leave();
    }
    program.run(9, 0, 20 * k_much);
    program.leave();
  };
  const std::map<LoopId, observe::LoopCode::Loop> loops{{1, {.last = 1}}, {2, {.last = 2}}};
  Program found(loops);
  run(found);
  EXPECT_EQ(found.log, (Log{"begin loop 2", "f3", "f4", "f3", "f4", "end"}));
  Program known(loops, "loop 2", {"f3", "f4"});
  run(known);
  EXPECT_EQ(known.log, (Log{"begin loop 2", "f3", "f4", "f3", "f4", "f3", "f4", "f3", "f4", "end"}));
  // Its iterations begin with work of their own.
  Program own(loops, "loop 2", {"loop 2", "f4"});
  run(own);
  EXPECT_EQ(own.log, (Log{"begin loop 2", "loop 2", "f4", "loop 2", "f4", "loop 2", "f4", "loop 2", "f4", "end"}));
  Program other(loops, "loop 3", {"f3"});
  run(other);
  EXPECT_EQ(other.log, Log{});
  EXPECT_TRUE(
      other.failure_reason().starts_with("the plan is for the loop loop 3, which was not entered; the largest "
                                         "loop, loop 1, does "))
      << other.failure_reason();
}

TEST(LoopFinder, InnerLoop_OuterLoopNotYetKnown_WaitsForIt) {
  Program program({{1, {.last = 2}}, {2, {.around = 1, .last = 2}}});
  for (int i = 0; i < 4; ++i) {
    program.turn(1);
    program.run(3, 1, k_much);
    for (int j = 0; j < 3; ++j) {
      program.turn(2);
      program.run(4, 2, k_much);
      program.run(5, 2, k_much);
    }
  }
  program.leave();
  Log expected{"begin loop 1"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), {"f3", "f4", "f5", "f4", "f5", "f4", "f5"});
  EXPECT_EQ(program.log, expected);
}

// As in a Fourier transform or a multigrid cycle: a step calls functions, each with a loop of many iterations that
// resemble one another, and set-up calls one of them before the first step. `misses` stands for the cache's size.
TEST(LoopFinder, LoopsOfFunctionsWithinSteps_AnyCacheOrSampling_SelectsTheTimeStepLoop) {
  for (const std::uint64_t misses : {0, 32, 200})
    for (const int every : {1, 4, 16}) {
      Program program({{1, {.last = 1}}, {2, {.last = 2}}});
      for (std::uint64_t step = 0; step < 6; ++step) {
        program.turn(1);
        for (std::uint64_t function = 3; function < 6; ++function) {
          program.call(function, 1);
          for (int i = 0; i < 64; ++i) {
            program.turn(2);
            if (!program.log.empty()) program.see(i % every == 0);
            program.work(k_much + misses * 64, 1000 * function, misses);
          }
          program.leave();
        }
      }
      program.leave();
      EXPECT_EQ(std::ranges::count_if(program.log, [](const auto& line) { return line.starts_with("begin"); }), 1);
      EXPECT_EQ(program.log.front(), "begin loop 1") << misses << " misses, one of " << every;
      EXPECT_EQ(std::ranges::count(program.log, "f3"), 4) << "taken at the third step";
    }
}

// An outer loop of one iteration would leave the run without a main loop.
TEST(LoopFinder, InnerLoop_OneLongVisitThatDoesMostOfTheOuterLoop_IsSelected) {
  const auto begins = [](observe::Work before, std::uint64_t turns) {
    Program program({{1, {.last = 2}}, {2, {.around = 1, .last = 2}}});
    program.turn(1);
    program.run(3, 1, before);
    for (std::uint64_t j = 0; j < turns; ++j) {
      program.turn(2);
      program.run(4, 2, k_much);
    }
    program.leave();
    return std::ranges::count(program.log, "begin loop 2");
  };
  EXPECT_EQ(begins(k_much, 64), 0);
  EXPECT_EQ(begins(k_much, 66), 1);
  EXPECT_EQ(begins(40 * k_much, 512), 0);
  EXPECT_EQ(begins(40 * k_much, 514), 1);
  EXPECT_EQ(begins(1000 * k_much, 514), 0) << "the outer loop may do as much elsewhere in each turn";
  EXPECT_EQ(begins(500 * k_much, 514), 1);
}

// As `record` observes them: some of the inner loop's iterations, but everything in between.
TEST(LoopFinder, SampledIterations_StillSelectTheOutermostLoop) {
  Program program({{1, {.last = 2}}, {2, {.around = 1, .last = 2}}});
  for (int i = 0; i < 4; ++i) {
    program.turn(1);
    program.run(3, 1, 4 * k_much);
    for (int j = 0; j < 20; ++j) {
      program.turn(2);
      const auto believes = [&](const std::string& name) {
        return std::count(program.log.begin(), program.log.end(), "begin " + name) != 0;
      };
      if (believes("loop 2") && !believes("loop 1")) program.see(j % 8 == 0);
      program.run(4, 2, k_much);
      program.run(5, 2, k_much);
    }
  }
  program.leave();
  const auto begins = std::count(program.log.begin(), program.log.end(), "begin loop 1");
  EXPECT_EQ(begins, 1);
  const auto at = std::find(program.log.begin(), program.log.end(), "begin loop 1");
  EXPECT_EQ(std::count(at, program.log.end(), "f3"), 2);
  EXPECT_EQ(std::count(at, program.log.end(), "f4"), 40);
}

// Without observed accesses, the number of calls determines whether a loop has ended.
TEST(LoopFinder, SampledIterations_ShortGapsBetweenVisits_DoNotEndTheLoop) {
  Program program({{1, {.last = 1}}});
  for (int visit = 0; visit < 20; ++visit) {
    program.call(8, 0);
    for (int i = 0; i < 4; ++i) {
      program.turn(1);
      if (!program.log.empty()) program.see(false);
      program.run(3, 1, k_much);
    }
    program.leave();
    program.run(5, 0, 10);
  }
  EXPECT_EQ(std::count(program.log.begin(), program.log.end(), "begin loop 1"), 1);
  EXPECT_EQ(std::count(program.log.begin(), program.log.end(), "end"), 0);
  for (int i = 0; i < 20; ++i) program.run(5, 0, k_much);
  EXPECT_EQ(std::count(program.log.begin(), program.log.end(), "end"), 1);
}

// The first loop makes many calls in an iteration, the one after it few, which do as much work.
void run_busy_and_calm_loop(Program& program, observe::Work work_of_call) {
  for (int i = 0; i < 6; ++i) {
    program.turn(1);
    if (!program.log.empty() && program.log.back() != "end") program.see(false);
    for (int j = 0; j < 10000; ++j) program.run(3, 1, work_of_call);
  }
  for (int i = 0; i < 150; ++i) {
    program.turn(2);
    program.run(4, 2, 10000 * work_of_call);
  }
  program.leave();
}

// On real memory the clock stands while iterations are observed.
TEST(LoopFinder, LoopOfManyCalls_IsObservedAndFollowedByOneOfFew_Ends) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  program.count_unseen();
  run_busy_and_calm_loop(program, 5000);
  EXPECT_EQ(std::ranges::count(program.log, "begin loop 1"), 1);
  EXPECT_EQ(std::ranges::count(program.log, "begin loop 2"), 1);
  const auto loops = program.candidates();
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].name, "loop 2");
  EXPECT_NEAR(loops[1].share, 6 / 156.0, 0.01) << "work that is seen and counts for a turn counts once";
}

// Without observed accesses, calls that are not known to be small stand for work.
TEST(LoopFinder, LoopOfManyCalls_IsUnobservedAndFollowedByOneOfFew_Ends) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  run_busy_and_calm_loop(program, 100);
  EXPECT_EQ(std::ranges::count(program.log, "begin loop 1"), 1);
  EXPECT_EQ(std::ranges::count(program.log, "begin loop 2"), 1);
}

// After it follows one long loop without calls: only accesses show that the program continues.
TEST(LoopFinder, AccessesElsewhereWithoutCalls_EndTheLoop) {
  Program program({{1, {.last = 1}}, {2, {.last = 2}}});
  for (int i = 0; i < 5; ++i) {
    program.turn(1);
    program.run(3, 1, k_much);
  }
  program.access(2);
  program.work(k_much / 20);
  program.access(2);
  EXPECT_EQ(std::ranges::count(program.log, "end"), 0) << "it may go on after so little";
  program.work(k_much / 10);
  program.access(2);
  EXPECT_EQ(program.log.back(), "end");
}

TEST(LoopFinder, LoopsWithoutCalls_ArePhases) {
  Program program({{1, {.last = 3}}, {2, {.around = 1, .last = 2}}, {3, {.around = 1, .last = 3}}});
  for (int i = 0; i < 3; ++i) {
    program.turn(1);
    program.enter(2);
    program.work(k_much);
    program.enter(3);
    program.work(k_much, 50);
  }
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 1", "loop 2", "loop 3"}));
}

// A function that is called three times in an iteration: only its first call begins the iteration.
TEST(LoopFinder, FirstPhaseRepeated_GetsANumber) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 3; ++i) {
    program.turn(1);
    for (int j = 0; j < 2; ++j) {
      program.run(3, 1, k_much);
      program.run(4, 1, k_much);
    }
  }
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 1", "f3", "f4", "f3#2", "f4"}));
}

TEST(LoopFinder, SweepOverNewMemory_IsNoMainLoop) {
  Program program({{1, {.last = 1}}});
  for (std::uint64_t i = 0; i < 50; ++i) {
    program.turn(1);
    program.run(3, 1, k_much, 100 * i);
  }
  EXPECT_EQ(program.log, Log{});
}

TEST(LoopFinder, ShortIterations_AreNoMainLoop) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 100000; ++i) {
    program.turn(1);
    program.run(3, 1, 1000);
  }
  EXPECT_EQ(program.log, Log{});
}

// Iterations of a tenth of the minimum for nested loops, in a loop that does most of the work so far.
TEST(LoopFinder, NamedLoop_IsSelected) {
  const auto run = [](Program& program) {
    for (int i = 0; i < 10; ++i) {
      program.turn(1);
      program.run(3, 1, 1000);
    }
    program.leave();
  };
  const std::map<LoopId, observe::LoopCode::Loop> loops{{1, {.last = 1}}};
  for (const char* name : {"loop 1", "loop ?", "l*"}) {
    Program known(loops, name);
    run(known);
    EXPECT_EQ(known.log.front(), "begin loop 1") << name;
    EXPECT_EQ(known.failure_reason(), "");
  }
  Program other(loops, "loop 2");
  run(other);
  EXPECT_EQ(other.log, Log{});
  EXPECT_EQ(
      other.failure_reason(),
      "no loop called loop 2 was entered; the largest loop, loop 1, does 100 % of the work in 10 iterations");
  Program once(loops, "loop 1");
  once.turn(1);
  once.run(3, 1, 1000);
  once.leave();
  EXPECT_EQ(once.failure_reason(), "the loop loop 1 did not iterate twice; no loop iterated twice");
}

TEST(LoopFinder, Pattern_SelectsTheOutermostMatch) {
  Program program({{1, {.last = 2}}, {2, {.around = 1, .last = 2}}}, "loop*");
  for (int i = 0; i < 4; ++i) {
    program.turn(1);
    for (int j = 0; j < 50; ++j) {
      program.turn(2);
      program.run(3, 2, 1000);
    }
  }
  program.leave();
  EXPECT_EQ(program.log.front(), "begin loop 1");
  EXPECT_EQ(std::count(program.log.begin(), program.log.end(), "begin loop 2"), 0);
}

// C++ has names of any length.
TEST(LoopFinder, LongNames_AreNotTruncated) {
  const std::string name = "loop " + std::string(400, 'x');
  Program program({{1, {.last = 1}}}, name);
  program.turn(1);
  program.leave();
  EXPECT_EQ(program.failure_reason(), "no loop called " + name + " was entered; no loop iterated twice");
}

TEST(LoopFinder, ShortIterations_OutermostLoopWithMostWork_IsSelected) {
  const auto run = [](bool within_another) {
    Program program({{1, {.last = 1}}, {2, {.last = 3}}, {3, {.around = 2, .last = 3}}});
    program.run(9, 0, k_much / 16);
    if (within_another) program.turn(2);
    for (int i = 0; i < 100; ++i) {
      program.turn(within_another ? 3 : 1);
      program.run(3, within_another ? 3 : 1, 1 << 16);
    }
    return program.log;
  };
  ASSERT_FALSE(run(false).empty());
  EXPECT_EQ(run(false).front(), "begin loop 1");
  EXPECT_EQ(run(true), Log{});
}

// A coder that fills a block in each iteration and works on it in every 4th: the others are short, but 8
// iterations resemble the 8 before them.
TEST(LoopFinder, IrregularIterations_AreComparedWithAsManyBefore) {
  const auto run = [](std::uint64_t apart, std::uint64_t after) {
    Program program({{1, {.last = 1}}});
    program.run(9, 0, after);
    for (std::uint64_t i = 0; i < 20; ++i) {
      program.turn(1);
      program.run(3, 1, i % 4 == 3 ? 20 * k_much : 1000, i % 4 == 3 ? 1000 + apart * i : 0);
    }
    program.leave();
    return program.log;
  };
  const auto found = run(0, k_much);
  ASSERT_EQ(std::ranges::count(found, "begin loop 1"), 1);
  EXPECT_EQ(std::ranges::count(found, "f3"), 4) << "the 17th turn is the first one that is told of";
  EXPECT_EQ(run(100, k_much), Log{}) << "each block lies in other memory";
  EXPECT_EQ(run(0, 500 * k_much), Log{}) << "it does little of the run";
}

// Calls left by a jump (longjmp, an exception) must not end enclosing nodes that continue.
TEST(LoopFinder, JumpsOutOfCalls_EndNothingThatContinues) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 4; ++i) {
    program.turn(1);
    program.call(3, 1);
    program.call(4, 0);
    program.work(k_much);
    program.jump(2);
  }
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 1", "f3", "f3"}));
}

TEST(LoopFinder, Recursion_IsNotFollowed) {
  Program program({{1, {.last = 1}}});
  for (int i = 0; i < 3; ++i) {
    program.turn(1);
    for (int j = 0; j < 1000; ++j) program.call(3, 1);
    program.work(k_much);
    for (int j = 0; j < 1000; ++j) program.leave();
  }
  program.leave();
  EXPECT_EQ(program.log, (Log{"begin loop 1", "f3"}));
}

}  // namespace
}  // namespace terrace::runtime
