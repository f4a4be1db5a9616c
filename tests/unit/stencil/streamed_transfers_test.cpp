// Tests transfers between datasets larger than memory: the chunks of their steps, and what moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "random_transfer.hpp"
#include "stencil/plan/transfer_plan.hpp"
#include "terrace/stencil.hpp"

namespace terrace::stencil::test {
namespace {

// Returns the chunks with a point of the range, point by point.
std::set<ChunkId> chunks_of_points(const DatasetInfo& info, const StreamLayout& layout, const Range& range) {
  std::set<ChunkId> chunks;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y)
      for (auto x = range.begin[0]; x < range.end[0]; ++x) {
        const auto first = layout.shift_of(info) + static_cast<std::size_t>(info.offset({x, y, z}));
        for (const auto byte : {first, first + info.element - 1})
          chunks.insert({info.id, static_cast<std::uint32_t>(byte / layout.chunk)});
      }
  return chunks;
}

// Counts the points of the range with a byte in the chunk, point by point.
int points_in(const DatasetInfo& info, const StreamLayout& layout, const ChunkId& chunk, const Range& range) {
  int count = 0;
  for (auto z = range.begin[2]; z < range.end[2]; ++z)
    for (auto y = range.begin[1]; y < range.end[1]; ++y)
      for (auto x = range.begin[0]; x < range.end[0]; ++x) {
        const auto first = layout.shift_of(info) + static_cast<std::size_t>(info.offset({x, y, z}));
        count += first / layout.chunk == chunk.number || (first + info.element - 1) / layout.chunk == chunk.number;
      }
  return count;
}

TEST(TransferPlans, Transfers_ListChunksOfEachStep) {
  auto cut = 0, refused = 0, covered = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    RandomMaker maker(seed);
    std::vector<DatasetInfo> infos;
    StreamLayout layout{std::size_t{512} << static_cast<unsigned>(maker.number(0, 3)), {0, 832}, {false, false}};
    for (DatasetId id = 0; id < 2; ++id) {
      DatasetInfo info;
      info.id = info.block = id;
      info.element = 8;
      for (std::size_t d = 0; d < k_max_dims; ++d) info.range.end[d] = maker.number(1, 24);
      info.row = padded_row(info.range.length(0), info.element);
      info.plane = info.row * info.range.length(1);
      infos.push_back(info);
    }
    const auto transfer = random_transfer(maker, 0, infos[0].range, 1, infos[1].range);
    const auto frames = static_cast<std::size_t>(maker.number(8, 64));
    const auto plan = plan_transfer(transfer, infos, layout, frames);
    if (!plan) {
      ++refused;
      continue;
    }
    EXPECT_LE(plan->stream->most_chunks, frames);
    ASSERT_EQ(plan->parts.size(), plan->stream->steps.size());
    cut += plan->parts.size() > 1;
    std::uint64_t points = 0;
    for (std::size_t s = 0; s < plan->parts.size(); ++s) {
      const auto& part = plan->parts[s];
      points += part.points();
      EXPECT_TRUE(transfer.to_range.contains(part));
      for (std::size_t k = 0; k < s; ++k) EXPECT_TRUE(intersection(part, plan->parts[k]).empty());
      std::set<ChunkId> there, written;
      for (const auto& use : plan->stream->uses)
        if (use.first <= s && s <= use.last) {
          // A chunk is mapped without a fetch only if the transfer overwrites all of it.
          if (!use.is_fetched) {
            ++covered;
            EXPECT_EQ(use.chunk.dataset, transfer.to);
            EXPECT_EQ(points_in(infos[transfer.to], layout, use.chunk, infos[transfer.to].range),
                      points_in(infos[transfer.to], layout, use.chunk, transfer.to_range));
          }
          there.insert(use.chunk);
          if (use.is_written) written.insert(use.chunk);
        }
      EXPECT_LE(there.size(), plan->stream->most_chunks);
      const auto to = chunks_of_points(infos[transfer.to], layout, part);
      const auto from = chunks_of_points(infos[transfer.from], layout, source_of(transfer, part));
      EXPECT_TRUE(std::ranges::includes(written, to));
      EXPECT_TRUE(std::ranges::includes(there, from));
    }
    EXPECT_EQ(points, transfer.to_range.points());
  }
  EXPECT_GT(cut, 50);
  EXPECT_GT(covered, 20);
  EXPECT_LT(refused, 100);
}

// Copies a column of one block to a column of another. Both are much larger than memory.
TEST(StreamedTransfers, ColumnToColumn_MovesEachChunkOnce) {
  constexpr std::ptrdiff_t k_nx = 300, k_ny = 1200;
  constexpr std::uint64_t k_memory = 512 << 10U;
  Context context({.executor = "streamed", .threads = 1, .memory = k_memory, .folder = testing::TempDir()});
  const auto left = context.block("left", {k_nx, k_ny}), right = context.block("right", {k_nx, k_ny});
  const auto u = left.dataset<double>("u"), v = right.dataset<double>("v", {{-1, 0}, {0, 0}});
  const auto fill = [](auto value, auto i) { value() = static_cast<double>(i[0] + 1000 * i[1]); };
  left.loop("fill", u.range(), fill, write(u), index());
  right.loop("fill", v.range(), fill, write(v), index());
  context.run();
  const auto before = context.statistics();
  context.transfer(u, {{k_nx - 1, k_nx}, {0, k_ny}}, v, {{-1, 0}, {0, k_ny}});
  context.run();
  const auto& after = context.statistics();
  const auto in = after.bytes_in - before.bytes_in, out = after.bytes_out - before.bytes_out;
  const auto of_each = 8.0 * k_nx * k_ny;
  EXPECT_GE(in, 2 * of_each - k_memory);  // resident chunks were not fetched
  EXPECT_LE(in, 2.2 * of_each);           // including row ends
  EXPECT_LE(out, 1.1 * of_each + k_memory);
  EXPECT_GE(out, of_each - k_memory);
  EXPECT_EQ(after.copied_in, before.copied_in);
  const auto column = v.get(Range{{-1, 1}, {0, k_ny}});
  for (std::ptrdiff_t y = 0; y < k_ny; ++y) {
    ASSERT_EQ(column[static_cast<std::size_t>(2 * y)], static_cast<double>(k_nx - 1 + 1000 * y));
    ASSERT_EQ(column[static_cast<std::size_t>(2 * y + 1)], static_cast<double>(1000 * y));
  }
  // Whole chunks were fetched, all that were not resident.
  EXPECT_GE(context.statistics().copied_in, of_each - k_memory);
}

// Overwritten chunks need no fetch.
TEST(StreamedTransfers, WholeTarget_IsNotFetched) {
  constexpr std::ptrdiff_t k_nx = 512, k_ny = 1024;
  constexpr std::uint64_t k_memory = 512 << 10U;
  Context context({.executor = "streamed", .threads = 1, .memory = k_memory, .folder = testing::TempDir()});
  const auto left = context.block("left", {k_nx, k_ny}), right = context.block("right", {k_nx, k_ny});
  const auto u = left.dataset<double>("u"), v = right.dataset<double>("v");
  const auto fill = [](auto value, auto i) { value() = static_cast<double>(i[0] + 1000 * i[1]); };
  left.loop("fill", u.range(), fill, write(u), index());
  right.loop("fill", v.range(), fill, write(v), index());
  context.run();
  const auto before = context.statistics();
  context.transfer(u, u.range(), v, v.range());
  context.run();
  const auto in = context.statistics().bytes_in - before.bytes_in;
  const auto of_each = 8.0 * k_nx * k_ny;
  EXPECT_GE(in, of_each - k_memory);
  EXPECT_LE(in, 1.1 * of_each);
  EXPECT_EQ(v.get(Range{{k_nx - 1, k_nx}, {k_ny - 1, k_ny}}).at(0),
            static_cast<double>(k_nx - 1 + 1000 * (k_ny - 1)));
  EXPECT_EQ(v.get(Range{{3, 4}, {0, 1}}).at(0), 3.0);
}

}  // namespace
}  // namespace terrace::stencil::test
