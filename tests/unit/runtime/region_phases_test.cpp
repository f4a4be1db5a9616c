// Tests loops and phases derived from nested regions of programs with known structure.
#include "runtime/regions/region_phases.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "region_recorder.hpp"

namespace terrace::runtime {
namespace {

TEST(RegionPhases, RepeatedKernels_AreIterationsOfALoop) {
  Regions run;
  run.regions({"read", "set up"});
  run.regions({"a", "b", "c", "a", "b", "c"});
  EXPECT_EQ(run.take(), Texts{});
  run.regions({"a", "b", "c", "a"});
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b", "c", "a"}));
}

TEST(RegionPhases, RepeatedRegion_IsTheLoopAndItsChildrenArePhases) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.open("step");
    run.regions({"force", "move"});
    run.close();
  }
  EXPECT_EQ(run.take(), (Texts{"+step", "step", "force", "move"}));
}

TEST(RegionPhases, EnclosingRegion_NamesAndEndsTheLoop) {
  Regions run;
  run.region("init");
  run.open("main");
  for (int step = 0; step < 3; ++step) run.regions({"force", "move"});
  run.close();
  run.region("output");
  EXPECT_EQ(run.take(), (Texts{"+main", "force", "move", "-"}));
  EXPECT_FALSE(run.in_loop());
}

TEST(RegionPhases, InnerLoopsOfAnyLength_AreOnePhase) {
  Regions run;
  const std::vector<int> turns{2, 5, 3, 7, 4};
  for (const int count : turns) {
    run.open("step");
    run.region("assemble");
    for (int i = 0; i < count; ++i) run.regions({"product", "dot"});
    run.region("update");
    run.close();
    if (count == 5) run.take();
  }
  const Texts turn{"step", "assemble", "product", "update"};
  Texts expected{"+step"};
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), turn.begin(), turn.end());
  EXPECT_EQ(run.take(), expected);
}

TEST(RegionPhases, EnclosingLoop_ReplacesTheInnerOne) {
  Regions run;
  const auto turn = [&] {
    run.region("a");
    for (int i = 0; i < 4; ++i) run.regions({"b", "c"});
    run.region("d");
  };
  turn();
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "b", "c", "b", "c"}));
  turn();
  EXPECT_EQ(run.take().back(), "-");
  turn();
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b", "d"}));
  turn();
  EXPECT_EQ(run.take(), (Texts{"a", "b", "d"}));
}

TEST(RegionPhases, LaterLoop_ReplacesTheEarlierOne) {
  Regions run;
  run.regions({"zero", "zero", "zero"});
  EXPECT_EQ(run.take(), (Texts{"+zero", "zero"}));
  run.regions({"a", "b", "a", "b", "a"});
  EXPECT_EQ(run.take(), (Texts{"-", "+(regions)", "a"}));
}

TEST(RegionPhases, RepeatedNames_GetNumbers) {
  Regions run;
  for (int step = 0; step < 3; ++step) run.regions({"exchange", "x", "exchange", "y"});
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "x", "exchange", "y"}));
  run.regions({"exchange", "x"});
  EXPECT_EQ(run.take(), (Texts{"exchange (2)", "x"}));
}

TEST(RegionPhases, ShortRegions_AreOmitted) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.region("a");
    run.region("tiny", 0.5e-4);
    run.region("b", 2e-4);
  }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b"}));
}

TEST(RegionPhases, SingleChild_IsNotSplit) {
  Regions run;
  for (int step = 0; step < 3; ++step)
    for (const auto* name : {"first", "second"}) {
      run.open(name);
      run.region(std::string("parallel@") + name);
      run.close();
    }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "first", "second"}));
  EXPECT_EQ(run.kinds(), "regions");
}

TEST(RegionPhases, RegionWithMostOwnWork_IsOnePhase) {
  for (const double own : {2e-3, 8e-3}) {
    Regions run;
    for (int step = 0; step < 3; ++step) {
      run.open("step");
      run.work(own);
      run.regions({"a", "b"});
      run.close();
    }
    // The children take half of 4 ms, a fifth of 10 ms.
    EXPECT_EQ(run.take(), own < 5e-3 ? (Texts{"+step", "step", "a", "b"}) : (Texts{"+step", "step"}));
  }
}

TEST(RegionPhases, UnlimitedNames_AreIgnoredBeyondTheLimit) {
  Regions run;
  run.regions({"a", "b"});
  for (std::size_t i = 0; i < 2 * RegionPhases::k_max_paths; ++i) run.region("step " + std::to_string(i));
  EXPECT_EQ(run.take(), Texts{});
  // Known names are still found; regions with ignored names are in no phase.
  for (int step = 0; step < 3; ++step) {
    run.region("a");
    run.open("another");
    run.region("b");
    run.close();
    run.region("b");
  }
  EXPECT_EQ(run.take(), (Texts{"+(regions)", "a", "b"}));
}

TEST(RegionPhases, EnclosingRegionEnds_EndsOpenChildren) {
  Regions run;
  for (int step = 0; step < 3; ++step) {
    run.open("step");
    run.region("a");
    run.open("never ended");
    run.work(1e-3);
    run.close_outer(1);
  }
  EXPECT_EQ(run.take(), (Texts{"+step", "step", "a", "never ended"}));
}

TEST(RegionPhases, EndWithoutBegin_IsIgnored) {
  Regions run;
  RegionPhases phases([] { return Seconds{0}; }, [](const PhaseBoundary&) { FAIL(); });
  phases.end(7);
  phases.begin(1, phases.intern_name("regions", "a"));
  phases.end(2);
  phases.end(1);
  phases.end(1);
  EXPECT_FALSE(phases.in_loop());
}

}  // namespace
}  // namespace terrace::runtime
