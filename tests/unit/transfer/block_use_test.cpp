// Tests of the choice between chunks and kernel paging by access statistics (block_use.hpp).
#include "transfer/spill/block_use.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/rounding.hpp"

namespace terrace::transfer {
namespace {

TEST(VisitWork, ShortWorkBetweenChunks_IsSparse) {
  VisitWork work;
  EXPECT_FALSE(work.is_sparse()) << "nothing is known";
  for (int i = 0; i < 500; ++i) work.on_visit(Seconds{10e-6});
  EXPECT_TRUE(work.is_sparse());
  for (int i = 0; i < 100; ++i) work.on_visit(Seconds{100e-6});
  EXPECT_FALSE(work.is_sparse());
}

TEST(VisitWork, ConcurrentSweeps_AreNotSparse) {
  // Three arrays whose chunks begin at the same time: two visits of three are short.
  VisitWork work;
  for (int i = 0; i < 3000; ++i) work.on_visit(Seconds{i % 3 == 0 ? 200e-6 : 1e-6});
  EXPECT_FALSE(work.is_sparse());
}

TEST(VisitWork, LongOutlier_IsClamped) {
  VisitWork work;
  work.on_visit(Seconds{1000});
  for (int i = 0; i < 500; ++i) work.on_visit(Seconds{10e-6});
  EXPECT_TRUE(work.is_sparse());
}

int loads_until_pages(BlockUse use, bool expected, bool sparse) {
  for (int loads = 0; loads < 100'000; ++loads) {
    if (use.prefers_kernel_paging()) return loads;
    use.on_load(expected);
    use.on_wait(sparse);
  }
  return -1;
}

TEST(BlockUse, IrregularOrSparseUse_PrefersKernelPaging) {
  EXPECT_EQ(loads_until_pages({}, true, false), -1);
  EXPECT_EQ(loads_until_pages({}, false, false), 128);
  EXPECT_EQ(loads_until_pages({}, true, true), 128);
}

TEST(BlockUse, BackOff_DoublesRequiredLoads) {
  BlockUse use;
  use.back_off(1);
  EXPECT_EQ(loads_until_pages(use, true, true), 256);
  use.back_off(3);
  EXPECT_EQ(loads_until_pages(use, true, true), 2048);
  use.back_off(100);
  EXPECT_EQ(loads_until_pages(use, true, true), 128 << 16 < 100'000 ? 128 << 16 : -1);
}

// Returns the loads of a heap of `pieces` pieces, in rotation, until the first piece prefers kernel paging; -1 if
// none does.
int loads_until_a_piece_is_for_pages(std::uint32_t pieces, std::uint32_t chunks, std::uint32_t in_order) {
  BlockUse heap;
  std::vector<BlockUse> use(pieces);
  for (std::uint32_t loads = 0; loads < 10'000; ++loads) {
    const auto piece = loads % pieces;
    const bool expected = piece < in_order;
    for (auto* const one : {&use[piece], &heap}) {
      one->on_load(expected);
      one->on_wait(false);
    }
    if (use[piece].prefers_kernel_paging(heap, chunks)) return static_cast<int>(loads) + 1;
  }
  return -1;
}

TEST(BlockUse, PiecesOfOneHeap_Irregular_PreferKernelPagingTogether) {
  EXPECT_EQ(loads_until_a_piece_is_for_pages(64, 2, 0), 128) << "as one block";
  EXPECT_EQ(loads_until_a_piece_is_for_pages(1, 2, 0), 128);
  EXPECT_EQ(loads_until_a_piece_is_for_pages(64, 16, 0), 64 * 7 + 1) << "a few of each piece's own";
  EXPECT_EQ(loads_until_a_piece_is_for_pages(64, 33, 0), 64 * 127 + 1) << "too large to be a piece";
}

TEST(BlockUse, PiecesOfOneHeap_HalfRegular_AreJudgedAlone) {
  const auto loads = loads_until_a_piece_is_for_pages(64, 2, 32);
  EXPECT_EQ(loads, 64 * 127 + 33);
}

TEST(BlockUse, RegularPiece_IrregularNeighbours_StaysInChunks) {
  BlockUse heap, piece;
  for (int i = 0; i < 1000; ++i) heap.on_load(false);
  for (int i = 0; i < 4; ++i) piece.on_load(true);
  EXPECT_TRUE(heap.is_irregular());
  EXPECT_FALSE(piece.is_irregular(heap, 2));
  EXPECT_FALSE(BlockUse{}.is_irregular(heap, 2)) << "nothing is known of it";
}

TEST(BlockUse, PieceAfterBackOff_NeedsMoreOwnLoads) {
  BlockUse heap, piece;
  for (int i = 0; i < 1000; ++i) heap.on_load(false);
  piece.back_off(3);
  for (int i = 0; i < 15; ++i) piece.on_load(false);
  EXPECT_FALSE(piece.is_irregular(heap, 2));
  piece.on_load(false);
  EXPECT_TRUE(piece.is_irregular(heap, 2));
}

PageTrial::Sample seen(std::uint64_t reads, double worked, double time) {
  return {static_cast<double>(reads) * spill_limits::k_min_page_read_time, Seconds{worked}, Seconds{time}};
}

TEST(PageTrial, FewFurtherPageReads_Passes) {
  PageTrial trial;
  EXPECT_FALSE(trial.is_running());
  trial.begin(seen(1000, 0, 0), seen(0, 0, 0), seen(0, 0.2, 2));
  EXPECT_TRUE(trial.is_running());
  EXPECT_FALSE(trial.has_midpoint());
  trial.set_midpoint(seen(21000, 0, 1));
  EXPECT_TRUE(trial.has_midpoint());
  EXPECT_TRUE(trial.is_passed(seen(30999, 0, 2))) << "half as many";
  EXPECT_FALSE(trial.is_passed(seen(31001, 0, 2)));
  EXPECT_TRUE(trial.is_passed(seen(31001, 0, 5))) << "a part of the time";
  trial.restart(seen(31001, 0, 2));
  EXPECT_FALSE(trial.has_midpoint());
  trial.set_midpoint(seen(31001, 0, 3));
  EXPECT_TRUE(trial.is_passed(seen(31001, 0, 4)));
  EXPECT_FALSE(trial.is_passed(seen(51001, 0, 4)));
}

TEST(PageTrial, MoreComputeTime_Passes) {
  PageTrial trial;
  trial.begin(seen(0, 5, 0), seen(0, 1, 7), seen(0, 2, 17));
  trial.set_midpoint(seen(20000, 5.5, 1));
  EXPECT_TRUE(trial.is_passed(seen(40000, 5.61, 2)));
  EXPECT_FALSE(trial.is_passed(seen(40000, 5.59, 2)));
}

}  // namespace
}  // namespace terrace::transfer
