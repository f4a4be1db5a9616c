// Whether chunks serve a block or single pages: by how it was touched.
#include "transfer/spill/block_use.hpp"

#include <gtest/gtest.h>

#include "core/rounding.hpp"

namespace terrace::transfer {
namespace {

TEST(VisitWork, IsSparseWhereNoCoreCouldHaveReadTheChunks) {
  VisitWork work;
  EXPECT_FALSE(work.is_sparse()) << "nothing is known";
  for (int i = 0; i < 500; ++i) work.visited(Seconds{10e-6});
  EXPECT_TRUE(work.is_sparse());
  for (int i = 0; i < 100; ++i) work.visited(Seconds{100e-6});
  EXPECT_FALSE(work.is_sparse());
}

TEST(VisitWork, CountsChunksThatAreReadTogether) {
  // Three arrays whose chunks begin at the same time: two visits in three are short.
  VisitWork work;
  for (int i = 0; i < 3000; ++i) work.visited(Seconds{i % 3 == 0 ? 200e-6 : 1e-6});
  EXPECT_FALSE(work.is_sparse());
}

TEST(VisitWork, ForgetsALongStretch) {
  VisitWork work;
  work.visited(Seconds{1000});
  for (int i = 0; i < 500; ++i) work.visited(Seconds{10e-6});
  EXPECT_TRUE(work.is_sparse());
}

int loads_until_pages(BlockUse use, bool expected, bool sparse) {
  for (int loads = 0; loads < 100'000; ++loads) {
    if (use.is_for_pages()) return loads;
    use.loaded(expected);
    use.waited(sparse);
  }
  return -1;
}

TEST(BlockUse, IsForPagesInNoOrderOrInPart) {
  EXPECT_EQ(loads_until_pages({}, true, false), -1);
  EXPECT_EQ(loads_until_pages({}, false, false), 128);
  EXPECT_EQ(loads_until_pages({}, true, true), 128);
}

TEST(BlockUse, ARefusalDoublesTheLoads) {
  BlockUse use;
  use.refuse(1);
  EXPECT_EQ(loads_until_pages(use, true, true), 256);
  use.refuse(3);
  EXPECT_EQ(loads_until_pages(use, true, true), 2048);
  use.refuse(100);
  EXPECT_EQ(loads_until_pages(use, true, true), 128 << 16 < 100'000 ? 128 << 16 : -1);
}

PageTrial::Seen seen(std::uint64_t reads, double worked, double time) {
  return {reads, Seconds{worked}, Seconds{time}};
}

TEST(PageTrial, IsPassedWhereFewPagesAreReadAnyMore) {
  PageTrial trial;
  EXPECT_FALSE(trial.is_on());
  trial.begin(seen(1000, 0, 0), seen(0, 0, 0), seen(0, 0.2, 2));
  EXPECT_TRUE(trial.is_on());
  EXPECT_FALSE(trial.has_looked());
  trial.look(seen(21000, 0, 1));
  EXPECT_TRUE(trial.has_looked());
  EXPECT_TRUE(trial.is_passed(seen(30999, 0, 2))) << "half as many";
  EXPECT_FALSE(trial.is_passed(seen(31001, 0, 2)));
  EXPECT_TRUE(trial.is_passed(seen(31001, 0, 5))) << "a part of the time";
  trial.go_on(seen(31001, 0, 2));
  EXPECT_FALSE(trial.has_looked());
  trial.look(seen(31001, 0, 3));
  EXPECT_TRUE(trial.is_passed(seen(31001, 0, 4)));
  EXPECT_FALSE(trial.is_passed(seen(51001, 0, 4)));
}

TEST(PageTrial, IsPassedWhereTheProgramWorksMore) {
  PageTrial trial;
  trial.begin(seen(0, 5, 0), seen(0, 1, 7), seen(0, 2, 17));
  trial.look(seen(20000, 5.5, 1));
  EXPECT_TRUE(trial.is_passed(seen(40000, 5.61, 2)));
  EXPECT_FALSE(trial.is_passed(seen(40000, 5.59, 2)));
}

}  // namespace
}  // namespace terrace::transfer
