// Tests the published algorithm against a cell-by-cell search.
#include "pim/published/contig_vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace terrace::pim {
namespace {

using Update = ContigVectors::Update;

class Cells {
 public:
  Cells(std::uint32_t rows, std::uint32_t subarrays)
      : rows_(rows), subarrays_(subarrays), taken_(std::size_t{rows} * subarrays) {}

  [[nodiscard]] bool holds(const Block& block) const {
    return block.row + block.shape.rows <= rows_ && block.subarray + block.shape.subarrays <= subarrays_;
  }
  [[nodiscard]] bool all(const Block& block, bool taken) const {
    for (auto row = block.row; row < block.row + block.shape.rows; ++row)
      for (auto subarray = block.subarray; subarray < block.subarray + block.shape.subarrays; ++subarray)
        if (taken_[std::size_t{row} * subarrays_ + subarray] != taken) return false;
    return true;
  }
  [[nodiscard]] bool has_room(const Shape& shape) const {
    for (std::uint32_t row = 0; row < rows_; ++row)
      for (std::uint32_t subarray = 0; subarray < subarrays_; ++subarray)
        if (const Block block{0, subarray, row, shape}; holds(block) && all(block, false)) return true;
    return false;
  }
  void set(const Block& block, bool taken) {
    for (auto row = block.row; row < block.row + block.shape.rows; ++row)
      for (auto subarray = block.subarray; subarray < block.subarray + block.shape.subarrays; ++subarray)
        taken_[std::size_t{row} * subarrays_ + subarray] = taken;
  }
  [[nodiscard]] std::vector<std::uint32_t> longest_of_rows() const {
    std::vector<std::uint32_t> longest;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      auto wide = subarrays_;
      while (wide > 0 && !fits_in_row(row, wide)) --wide;
      longest.push_back(wide);
    }
    return longest;
  }
  [[nodiscard]] std::vector<std::uint32_t> longest_of_subarrays() const {
    std::vector<std::uint32_t> longest;
    for (std::uint32_t subarray = 0; subarray < subarrays_; ++subarray) {
      auto deep = rows_;
      while (deep > 0 && !fits_in_subarray(subarray, deep)) --deep;
      longest.push_back(deep);
    }
    return longest;
  }

 private:
  [[nodiscard]] bool fits_in_row(std::uint32_t row, std::uint32_t wide) const {
    for (std::uint32_t subarray = 0; subarray + wide <= subarrays_; ++subarray)
      if (all({0, subarray, row, {1, wide}}, false)) return true;
    return false;
  }
  [[nodiscard]] bool fits_in_subarray(std::uint32_t subarray, std::uint32_t deep) const {
    for (std::uint32_t row = 0; row + deep <= rows_; ++row)
      if (all({0, subarray, row, {deep, 1}}, false)) return true;
    return false;
  }

  std::uint32_t rows_, subarrays_;
  std::vector<bool> taken_;
};

void live_through(std::uint32_t rows, std::uint32_t subarrays, Update update, std::uint32_t seed) {
  ContigVectors contig(rows, subarrays, update);
  Cells cells(rows, subarrays);
  std::vector<Block> live;
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  // Small blocks fragment the device; large ones test whether every hole is found.
  const auto length = [&](std::uint32_t most) { return 1 + below(below(4) == 0 ? most : std::min(most, 3u)); };
  for (int step = 0; step < 400; ++step) {
    if (live.empty() || below(5) < 3) {
      const Shape shape{length(rows), length(subarrays)};
      const auto block = contig.allocate(shape);
      ASSERT_EQ(block.has_value(), cells.has_room(shape)) << shape.rows << " x " << shape.subarrays;
      if (!block) continue;
      ASSERT_EQ(block->shape, shape);
      ASSERT_TRUE(cells.holds(*block));
      ASSERT_TRUE(cells.all(*block, false));
      cells.set(*block, true);
      live.push_back(*block);
    } else {
      std::swap(live[below(static_cast<std::uint32_t>(live.size()))], live.back());
      contig.release(live.back());
      cells.set(live.back(), false);
      live.pop_back();
    }
    ASSERT_EQ(contig.subarray_contig(), cells.longest_of_rows());
    ASSERT_EQ(contig.row_contig(), cells.longest_of_subarrays());
  }
}

TEST(ContigVectors, RandomHistory_FindsRectangleWheneverOneIsFree) {
  for (const auto update : {Update::changed, Update::all}) {
    std::uint32_t seed = 0;
    for (const auto& [rows, subarrays] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
             {8, 8}, {1, 9}, {9, 1}, {13, 5}, {5, 13}, {16, 16}, {3, 70}, {70, 3}}) {
      for (int history = 0; history < 10; ++history) {
        live_through(rows, subarrays, update, ++seed);
        if (HasFatalFailure()) FAIL() << rows << " x " << subarrays << ", history " << seed;
      }
    }
  }
}

// The paper's figures 3 and 4: a device of 8 rows and 8 subarrays, both vectors, and 2 rows across 4 subarrays.
TEST(ContigVectors, FiguresOfThePaper_AreReproduced) {
  const std::vector<std::string> drawn{"11100011", "11101111", "11101111", "11100000",
                                       "11100000", "00000000", "00000000", "00000000"};
  ContigVectors contig(8, 8);
  std::vector<Block> units;
  while (const auto unit = contig.allocate({1, 1})) units.push_back(*unit);
  for (const auto& unit : units)
    if (drawn[unit.row][unit.subarray] == '0') contig.release(unit);
  EXPECT_EQ(contig.subarray_contig(), (std::vector<std::uint32_t>{3, 1, 1, 5, 5, 8, 8, 8}));
  EXPECT_EQ(contig.row_contig(), (std::vector<std::uint32_t>{3, 3, 3, 8, 5, 5, 5, 5}));
  EXPECT_EQ(contig.allocate({2, 4}), (Block{0, 3, 3, {2, 4}}));
}

TEST(ContigVectors, RowAndColumnShapes_FillDevice) {
  ContigVectors contig(64, 16);
  std::vector<Block> live;
  while (const auto block = contig.allocate({1, 16})) live.push_back(*block);
  EXPECT_EQ(live.size(), 64u);
  for (const auto& block : live) contig.release(block);
  live.clear();
  while (const auto block = contig.allocate({64, 1})) live.push_back(*block);
  EXPECT_EQ(live.size(), 16u);
  for (const auto& block : live) contig.release(block);
  EXPECT_TRUE(contig.allocate({64, 16}));
}

TEST(ContigVectors, EmptyShape_Throws) {
  EXPECT_THROW(ContigVectors(0, 4), Error);
  EXPECT_THROW(ContigVectors(4, 0), Error);
  ContigVectors contig(4, 4);
  EXPECT_THROW(contig.allocate({0, 1}), Error);
  EXPECT_THROW(contig.allocate({1, 0}), Error);
  EXPECT_FALSE(contig.allocate({5, 1}));
  EXPECT_FALSE(contig.allocate({1, 5}));
}

// Stores the owning thread of each unit, or none.
TEST(ContigVectors, SeveralThreads_NeverShareAUnit) {
  constexpr std::uint32_t k_rows = 32, k_subarrays = 8;
  ContigVectors contig(k_rows, k_subarrays);
  std::vector<std::atomic<int>> owner(std::size_t{k_rows} * k_subarrays);
  std::atomic<int> clashes = 0;
  const auto change = [&](const Block& block, int from, int to) {
    for (auto row = block.row; row < block.row + block.shape.rows; ++row)
      for (auto subarray = block.subarray; subarray < block.subarray + block.shape.subarrays; ++subarray)
        if (owner[std::size_t{row} * k_subarrays + subarray].exchange(to) != from) ++clashes;
  };
  std::vector<std::thread> threads;
  for (int thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<std::uint32_t>(thread));
      std::vector<Block> live;
      for (int step = 0; step < 500; ++step) {
        const Shape shape{1 + static_cast<std::uint32_t>(random() % 6),
                          1 + static_cast<std::uint32_t>(random() % 3)};
        if (const auto block = contig.allocate(shape)) {
          change(*block, 0, thread);
          live.push_back(*block);
        }
        if (live.size() > 6 || (!live.empty() && random() % 2 == 0)) {
          change(live.back(), thread, 0);
          contig.release(live.back());
          live.pop_back();
        }
      }
      for (const auto& block : live) {
        change(block, thread, 0);
        contig.release(block);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_TRUE(contig.allocate({k_rows, k_subarrays}));
}

}  // namespace
}  // namespace terrace::pim
