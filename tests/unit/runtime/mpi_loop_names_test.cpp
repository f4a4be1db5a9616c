// SPDX-License-Identifier: Apache-2.0
// Tests that names of phases of MPI programs do not begin iterations by chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/mpi/mpi_loop_finder.hpp"

namespace terrace::runtime {
namespace {

// The call is on the line of the loop's condition, so that loop and site have one name: "main:8".
TEST(MpiLoopFinder, SiteHasTheLoopsName_PhaseHasAnother) {
  std::vector<PhaseBoundary> boundaries;
  MpiLoopFinder finder({[](LoopHead) { return "main:8"; }, [](CallPath) { return "MPI_Barrier main:8"; },
                        [](CallPath) { return "main:8"; }},
                       [&](const PhaseBoundary& boundary) { boundaries.push_back(boundary); });
  finder.set_loops(1, {1});
  double now = 0;
  for (int step = 0; step < 300; ++step) {
    if (!finder.probes().empty()) finder.on_iterations(1, 1);
    finder.on_call_begin(1, true, Seconds{now});
    finder.on_call_end(Seconds{now + 1e-3});
    finder.on_call_begin(1, true, Seconds{now + 3e-3});
    finder.on_call_end(Seconds{now + 4e-3});
    now += 6e-3;
  }
  finder.finish();
  EXPECT_EQ(finder.num_iterations(), 300U);
  const auto begins = std::ranges::count(boundaries, "main:8", &PhaseBoundary::phase);
  EXPECT_GT(begins, 200);
  EXPECT_LT(begins, 300);
  EXPECT_GT(std::ranges::count(boundaries, "main:8 after call", &PhaseBoundary::phase), 200);
}

}  // namespace
}  // namespace terrace::runtime
