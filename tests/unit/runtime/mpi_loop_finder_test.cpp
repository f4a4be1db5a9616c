// SPDX-License-Identifier: Apache-2.0
// Tests the detection of main loop and phases from MPI calls, with simulated programs whose structure is known:
// the finder sees call paths, the loops around them, and hits of breakpoints in the loops that it asked to probe.
#include "runtime/mpi/mpi_loop_finder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace terrace::runtime {
namespace {

// Executes a program's calls and loops, and feeds the finder as the agent would.
class SimulatedProgram {
 public:
  SimulatedProgram()
      : finder_({[](LoopHead head) { return "loop" + std::to_string(head); },
                 [](CallPath path) { return "call" + std::to_string(path); },
                 [](CallPath path) { return "site" + std::to_string(path); }},
                [this](const PhaseBoundary& boundary) { boundaries.push_back(boundary); }) {}

  // Computes for so long.
  void compute(double seconds) { now_ += seconds; }
  // Calls MPI at a site, for so long.
  void call(CallPath path, double seconds = 1e-6, bool ends_phase = true) {
    if (known_.insert(path).second) unresolved_.emplace_back(path, loops_);
    for (const auto& [head, times] : hits_)
      if (times > 0) finder_.on_iterations(head, times);
    hits_.clear();
    finder_.on_call_begin(path, ends_phase, Seconds{now_});
    now_ += seconds;
    finder_.on_call_end(Seconds{now_});
    // The launcher answers after some calls.
    if (++since_asked_ > delay) resolve();
  }
  // Runs a loop; the header is reached once more when the loop ends, as where the condition is tested on top.
  template <class Body>
  void loop(LoopHead head, int iterations, Body body) {
    loops_.push_back(head);
    for (int i = 0; i < iterations; ++i) {
      reach(head);
      body(i);
    }
    reach(head);
    loops_.pop_back();
  }
  void finish() { finder_.finish(); }
  [[nodiscard]] std::uint64_t iterations() const { return finder_.num_iterations(); }
  [[nodiscard]] std::string main_loop() const {
    std::string name;
    for (const auto& one : boundaries)
      if (!one.begins_loop.empty()) name = one.begins_loop;
    return name;
  }

  int delay = 3;              // calls until the loops of new paths are known
  bool keeps_probes = false;  // breakpoints remain when the finder no longer asks for them
  std::vector<PhaseBoundary> boundaries;

 private:
  void reach(LoopHead head) {
    const auto& probes = finder_.probes();
    if (keeps_probes) kept_.insert(probes.begin(), probes.end());
    if (std::ranges::find(probes, head) != probes.end() || kept_.contains(head)) ++hits_[head];
  }
  void resolve() {
    since_asked_ = 0;
    for (const auto& [path, loops] : unresolved_) finder_.set_loops(path, loops);
    unresolved_.clear();
  }

  MpiLoopFinder finder_;
  double now_ = 0;
  std::vector<LoopHead> loops_;
  std::map<LoopHead, std::uint32_t> hits_;
  std::set<CallPath> known_;
  std::set<LoopHead> kept_;
  std::vector<std::pair<CallPath, std::vector<LoopHead>>> unresolved_;
  int since_asked_ = 0;
};

TEST(MpiLoopFinder, HaloExchange_ReductionEvery10_CountsTimeSteps) {
  SimulatedProgram program;
  program.call(100);
  program.loop(1, 60, [&](int step) {
    program.compute(2e-3);
    for (CallPath path = 1; path <= 4; ++path) program.call(path, 1e-6, false);
    program.call(5, 5e-4);
    if (step % 10 == 9) program.call(6);
    if (step % 25 == 24) program.call(7);
  });
  program.call(101);
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop1");
  EXPECT_EQ(program.iterations(), 60U);
}

TEST(MpiLoopFinder, MoreCallsThanAreRemembered_MainLoopIsFound) {
  SimulatedProgram program;
  // A loop that never iterates is around the main loop, which therefore is observed for a while.
  program.loop(9, 1, [&](int) {
    program.call(100);
    program.loop(1, 300, [&](int) {
      for (int i = 0; i < 5000; ++i) program.call(1, 1e-7);
      program.compute(1e-3);
      program.call(2);
    });
  });
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop1");
  EXPECT_EQ(program.iterations(), 300U);
}

TEST(MpiLoopFinder, NoRegularCall_FirstIterationsAreSaidToBeEstimated) {
  for (const bool is_regular : {true, false}) {
    SimulatedProgram program;
    program.delay = 40;  // calls until the loop is known
    program.loop(1, 300, [&](int step) {
      program.compute(2e-3);
      program.call(is_regular ? 1 : static_cast<CallPath>(1 + step * step % 7));
    });
    program.finish();
    std::string why;
    for (const auto& one : program.boundaries)
      if (!one.begins_loop.empty()) why = one.why;
    EXPECT_EQ(why.find("estimated") != std::string::npos, !is_regular);
    EXPECT_NEAR(static_cast<double>(program.iterations()), 300, is_regular ? 0 : 2);
  }
}

TEST(MpiLoopFinder, ShortLoopBehindMainLoop_IsNoMainLoop) {
  SimulatedProgram program;
  program.loop(1, 300, [&](int) {
    program.compute(2e-3);
    program.call(1);
  });
  program.loop(2, 16, [&](int) {
    program.compute(2e-3);
    program.call(2);
  });
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop1");
}

TEST(MpiLoopFinder, ReportedLoop_RareCallsOnly_CountsExactlyWithoutProbes) {
  std::uint64_t boundaries = 0;
  MpiLoopFinder finder(
      {[](LoopHead) { return "loop"; }, [](CallPath) { return "call"; }, [](CallPath) { return "site"; }},
      [&](const PhaseBoundary&) { ++boundaries; });
  const auto head = k_reported_head | 7;
  double now = 0;
  for (int step = 0; step < 90'000; ++step) {  // more than the events that are remembered
    const auto path = static_cast<CallPath>(step % 3);
    if (step < 3) finder.set_loops(path, {head});
    if (step > 0) finder.on_iterations(head, 1);
    finder.on_call_begin(path, true, Seconds{now});
    finder.on_call_end(Seconds{now + 1e-6});
    now += 1e-3;
    EXPECT_TRUE(finder.probes().empty());
  }
  finder.finish();
  EXPECT_EQ(finder.num_iterations(), 90'000U);
  EXPECT_GT(boundaries, 89'000U);
}

TEST(MpiLoopFinder, SameSequence_OtherLoops_CountsDiffer) {
  // Both programs call ten times W, then A, thirty times over.
  SimulatedProgram nested;
  nested.loop(1, 30, [&](int) {
    nested.loop(2, 10, [&](int) {
      nested.compute(1e-3);
      nested.call(1);
    });
    nested.call(2);
  });
  nested.finish();
  EXPECT_EQ(nested.main_loop(), "loop1");
  EXPECT_EQ(nested.iterations(), 30U);

  SimulatedProgram flat;
  flat.loop(1, 300, [&](int step) {
    flat.compute(1e-3);
    flat.call(1);
    if (step % 10 == 9) flat.call(2);
  });
  flat.finish();
  EXPECT_EQ(flat.iterations(), 300U);
}

TEST(MpiLoopFinder, ConjugateGradients_InnerLoop_OuterIsMain) {
  SimulatedProgram program;
  const auto solve = [&](LoopHead inner, CallPath first) {
    program.loop(inner, 25, [&](int) {
      program.compute(4e-2);  // 25 iterations outlast the finder's patience
      program.call(first);
      program.call(first + 1);
    });
    program.call(first + 2);
  };
  solve(1, 10);  // untimed
  program.loop(2, 15, [&](int) { solve(1, 20); });
  program.call(30);
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop2");
  EXPECT_EQ(program.iterations(), 15U);
  const auto ends = std::ranges::count_if(program.boundaries, [](const auto& one) { return one.ends_loop; });
  const auto begins =
      std::ranges::count_if(program.boundaries, [](const auto& one) { return !one.begins_loop.empty(); });
  EXPECT_EQ(ends, begins);
}

TEST(MpiLoopFinder, CalledFunctionWithLoop_NewInvocation_IsNotAnInnerIteration) {
  // A halo exchange loops over three dimensions: the iteration's boundary is in no sequence of calls.
  SimulatedProgram program;
  program.loop(1, 300, [&](int) {
    program.compute(1e-3);
    program.loop(2, 3, [&](int) {
      program.call(1);
      program.call(2);
    });
  });
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop1");
  EXPECT_EQ(program.iterations(), 300U);
}

// A short run of a program that reads commands in a loop: 0.2 s in which the loop of commands has no iteration.
TEST(MpiLoopFinder, EnclosingLoopWithoutIterations_InnerLoopIsChosenSoon) {
  SimulatedProgram program;
  program.loop(1, 1, [&](int) {
    program.loop(2, 200, [&](int) {
      program.compute(1e-3);
      program.call(1);
    });
  });
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop2");
  EXPECT_EQ(program.iterations(), 200U);
}

// Time steps of 0.08 s with a solver inside: the solver's loop is not chosen while the steps may prove similar.
TEST(MpiLoopFinder, EnclosingLoopWithIterations_InnerLoopIsNotChosen) {
  SimulatedProgram program;
  program.loop(1, 30, [&](int) {
    program.loop(2, 40, [&](int) {
      program.compute(2e-3);
      program.call(1);
    });
    program.call(2);
  });
  program.finish();
  const auto begins =
      std::ranges::count_if(program.boundaries, [](const auto& one) { return !one.begins_loop.empty(); });
  EXPECT_EQ(begins, 1);
  EXPECT_EQ(program.main_loop(), "loop1");
  EXPECT_EQ(program.iterations(), 30U);
}

// LU's sweeps: each time step has two loops over planes, whose breakpoints remain from the step before.
TEST(MpiLoopFinder, BreakpointOfAnEarlierVisit_CountsInTheNext) {
  SimulatedProgram program;
  program.keeps_probes = true;
  program.loop(1, 1, [&](int) {  // reads commands
    program.loop(2, 40, [&](int) {
      for (const LoopHead sweep : {3, 4})
        program.loop(sweep, 30, [&](int) {
          program.compute(3e-2);
          program.call(static_cast<CallPath>(10 * sweep), 1e-6, false);
          program.call(static_cast<CallPath>(10 * sweep + 1));
        });
    });
  });
  program.finish();
  EXPECT_EQ(program.main_loop(), "loop2");
  EXPECT_EQ(program.iterations(), 40U);
}

TEST(MpiLoopFinder, LongCallsAndComputation_BecomePhases) {
  SimulatedProgram program;
  program.loop(1, 20, [&](int) {
    program.call(1, 2e-6, false);
    program.compute(5e-3);
    program.call(2, 1e-3);  // a long wait
    program.compute(3e-3);
    program.call(3, 1e-6);  // a short reduction
    program.compute(1e-6);
    program.call(4, 1e-6);
    program.compute(4e-3);
  });
  program.finish();
  std::vector<std::string> phases;
  std::size_t begins = 0;
  for (const auto& one : program.boundaries) {
    if (!one.begins_loop.empty()) begins = phases.size();
    if (!one.phase.empty()) phases.push_back(one.phase);
  }
  ASSERT_GE(phases.size(), begins + 4);
  EXPECT_EQ(std::vector(phases.begin() + static_cast<std::ptrdiff_t>(begins),
                        phases.begin() + static_cast<std::ptrdiff_t>(begins) + 4),
            (std::vector<std::string>{"loop1", "call2", "site2", "site4"}));
}

// Programs of random structure, compared with what they did.
TEST(MpiLoopFinder, RandomPrograms_OutermostLoop_IsCountedExactly) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    SimulatedProgram program;
    program.delay = draw(1, 10);
    program.keeps_probes = draw(0, 1) == 1;
    const int before = draw(0, 5);
    for (int i = 0; i < before; ++i) program.call(static_cast<CallPath>(200 + i));
    const int steps = draw(200, 600);
    const int sites = draw(1, 4);
    std::vector<int> inner;  // iterations of the loop around each site; 0: none
    std::vector<int> every;
    for (int i = 0; i < sites; ++i) {
      inner.push_back(draw(0, 1) == 0 ? 0 : draw(1, 5));
      every.push_back(i == 0 ? 1 : draw(1, 12));
    }
    program.loop(1, steps, [&](int step) {
      for (int site = 0; site < sites; ++site) {
        if (step % every[static_cast<std::size_t>(site)] != 0) continue;
        program.compute(1e-3 * draw(90, 110) / 100);
        const auto path = static_cast<CallPath>(10 + site);
        const auto times = inner[static_cast<std::size_t>(site)];
        if (times == 0)
          program.call(path);
        else
          program.loop(static_cast<LoopHead>(10 + site), times, [&](int) { program.call(path); });
      }
    });
    program.call(300);
    program.finish();
    EXPECT_EQ(program.main_loop(), "loop1") << "seed " << seed;
    EXPECT_EQ(program.iterations(), static_cast<std::uint64_t>(steps)) << "seed " << seed;
  }
}

// Events in any order, as of a program that leaves functions by longjmp(3): loops begin and end as often as each
// other.
TEST(MpiLoopFinder, RandomEvents_LoopsBeginAndEndInPairs) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
    int open = 0;
    MpiLoopFinder finder(
        {[](LoopHead head) { return std::to_string(head); }, [](CallPath path) { return std::to_string(path); },
         [](CallPath path) { return std::to_string(path); }},
        [&](const PhaseBoundary& boundary) {
          if (boundary.ends_loop) --open;
          if (!boundary.begins_loop.empty()) ++open;
          ASSERT_GE(open, 0);
          ASSERT_LE(open, 1);
        });
    double now = 0;
    // Some seeds have few heads and rare changes, so that main loops are found; and more events than are
    // remembered.
    const unsigned rarely = seed % 2 == 0 ? 1000 : 10;
    for (unsigned i = 0; i < 2 * MpiLoopFinder::k_max_events / (seed == 0 ? 1 : 40); ++i) {
      now += draw(100) * 1e-5;
      if (draw(rarely) == 0) {
        std::vector<LoopHead> loops;
        for (auto depth = draw(5); depth > 0; --depth) loops.push_back(1 + draw(6));
        finder.set_loops(draw(8), loops);
      }
      if (draw(100 * rarely) == 0) finder.reject(1 + draw(6));
      if (draw(3) == 0) finder.on_iterations(1 + draw(6), 1 + draw(3));
      finder.on_call_begin(draw(rarely / 10 + 2) % 8, draw(2) == 0, Seconds{now});
      if (draw(20) != 0) finder.on_call_end(Seconds{now + 1e-6});
    }
    finder.finish();
    EXPECT_EQ(open, 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace terrace::runtime
