// Tests the memory needs of stream plans.
#include "stencil/plan/stream_plan.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

constexpr std::ptrdiff_t k_rows = 64;
constexpr std::ptrdiff_t k_row = 512;  // a chunk

void add_argument(Loop& loop, DatasetId dataset, Access access, const Point& offset) {
  loop.arguments.push_back({dataset, "", access, Stencil(std::vector<Point>{offset}), offset, offset, 8});
}

// The last step reads eight of the ten rows again that the first one wrote; they stay counted for the steps
// between, which use a hundred others.
TEST(StreamPlan, Chunk_IsCountedFromFirstToLastUse) {
  constexpr DatasetId k_datasets = 11;
  std::vector<DatasetInfo> infos;
  StreamLayout layout{k_row * 8, {}, {}};
  for (DatasetId id = 0; id < k_datasets; ++id) {
    DatasetInfo info{"", id, 0, 8, {{0, k_row}, {0, k_rows}}};
    info.row = k_row;
    info.plane = k_row * k_rows;
    infos.push_back(info);
    layout.shift.push_back(0);
    layout.is_temporary.push_back(false);
  }
  Chain chain(3);
  chain[0].range = {{0, k_row}, {0, 10}};
  add_argument(chain[0], 0, Access::write, {0, 0, 0});
  chain[1].range = {{0, k_row}, {10, 40}};
  for (DatasetId id = 1; id < k_datasets; ++id) add_argument(chain[1], id, Access::write, {0, 0, 0});
  chain[2].range = {{0, k_row}, {60, 62}};
  add_argument(chain[2], 0, Access::read, {0, -58, 0});
  const auto plan = plan_stream(chain, TilePlan(chain, {0, 10, 0}), 1, 1, infos, layout);
  ASSERT_EQ(plan.steps.size(), 7);
  EXPECT_EQ(plan.most_chunks, 108);
}

}  // namespace
}  // namespace terrace::stencil::test
