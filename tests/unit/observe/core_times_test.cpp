// Tests the instruction times of phases.
#include "observe/core_times.hpp"

#include <gtest/gtest.h>

namespace terrace::observe {
namespace {

TEST(CoreTimes, SeveralPatterns_FirstMatchApplies) {
  const CoreTimes times{{{"psinv.5", {1}}, {"psinv.*", {2}}, {"resid.[0-3]", {3}}, {"*inv*", {4}}}, {}};
  EXPECT_EQ(times.find("psinv.5"), Seconds{1});
  EXPECT_EQ(times.find("psinv.12"), Seconds{2});
  EXPECT_EQ(times.find("resid.3"), Seconds{3});
  EXPECT_EQ(times.find("inverse/2"), Seconds{4});
  for (const char* other : {"resid.4", "psin", "", "resid.33"})
    EXPECT_EQ(times.find(other), std::nullopt) << other;
  EXPECT_EQ(CoreTimes{}.find("psinv.5"), std::nullopt);
}

TEST(CoreTimes, Blob_RoundTrip) {
  const CoreTimes times{{{"b", {0.1}}, {"a*", {1e-300}}}, {{"solve", {2e-9}}, {"operator==", {1}}}};
  BlobWriter out;
  times.to_blob(out);
  BlobReader in(out.bytes());
  const auto back = CoreTimes::from_blob(in);
  EXPECT_EQ(back.phases, times.phases);
  EXPECT_EQ(back.functions, times.functions);
}

}  // namespace
}  // namespace terrace::observe
