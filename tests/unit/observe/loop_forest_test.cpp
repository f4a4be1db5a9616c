// Compares the loop forest with natural loops by their definition: a block dominates another where removing it
// makes the other unreachable; a loop consists of the blocks that reach a back edge to its header.
#include "observe/code/loop_forest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "observe/code/loop_marks.hpp"

namespace terrace::observe {
namespace {

using Edges = std::vector<std::vector<BlockIndex>>;
using Blocks = std::set<BlockIndex>;

Blocks reached(const Edges& edges, BlockIndex from, BlockIndex without) {
  Blocks seen;
  std::vector<BlockIndex> left{from};
  while (!left.empty()) {
    const auto block = left.back();
    left.pop_back();
    if (block == without || !seen.insert(block).second) continue;
    left.insert(left.end(), edges[block].begin(), edges[block].end());
  }
  return seen;
}

bool dominates(const Edges& edges, BlockIndex head, BlockIndex block) {
  return head == block || !reached(edges, 0, head).contains(block);
}

// Returns the blocks of the natural loops, by head; nothing where the flow is irreducible.
bool natural_loops(const Edges& edges, std::vector<Blocks>& loops) {
  const auto live = reached(edges, 0, k_no_block);
  Edges forward(edges.size());
  Edges back(edges.size());
  loops.assign(edges.size(), {});
  for (const auto from : live)
    for (const auto to : edges[from]) {
      back[to].push_back(from);
      if (!dominates(edges, to, from)) forward[from].push_back(to);
    }
  for (const auto block : live)
    for (const auto next : forward[block])
      if (reached(forward, next, k_no_block).contains(block)) return false;
  for (const auto from : live)
    for (const auto to : edges[from]) {
      if (!dominates(edges, to, from)) continue;
      loops[to].insert(to);
      loops[to].merge(reached(back, from, to));
    }
  return true;
}

Edges random_flow(std::minstd_rand& random) {
  Edges edges(2 + random() % 14);
  for (BlockIndex i = 0; i < edges.size(); ++i) {
    if (i + 1 < edges.size() && random() % 8 != 0) edges[i].push_back(i + 1);
    while (random() % 5 < 2) edges[i].push_back(static_cast<BlockIndex>(random() % edges.size()));
  }
  return edges;
}

TEST(LoopForest, RandomReducibleFlow_FindsNaturalLoops) {
  std::minstd_rand random(7);
  int reducible = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto edges = random_flow(random);
    const auto forest = find_loops({edges, {}});
    std::vector<Blocks> loops;
    if (!natural_loops(edges, loops)) continue;
    ++reducible;
    for (const auto block : reached(edges, 0, k_no_block)) {
      EXPECT_EQ(forest.is_head[block], !loops[block].empty());
      auto innermost = k_no_block;
      for (BlockIndex head = 0; head < edges.size(); ++head)
        if (loops[head].contains(block) &&
            (innermost == k_no_block || loops[head].size() < loops[innermost].size()))
          innermost = head;
      ASSERT_EQ(forest.loop_of(block), innermost) << i << ", block " << block;
      for (BlockIndex head = 0; head < edges.size(); ++head)
        EXPECT_EQ(forest.is_head[head] && forest.contains(head, block), loops[head].contains(block));
    }
  }
  EXPECT_GT(reducible, 5000);
}

// In any flow the nesting of heads is acyclic, and every cycle has a head.
TEST(LoopForest, RandomFlow_EveryCycleHasHead) {
  std::minstd_rand random(8);
  for (int i = 0; i < 20000; ++i) {
    auto edges = random_flow(random);
    const auto forest = find_loops({edges, {}});
    for (BlockIndex block = 0; block < edges.size(); ++block) {
      std::size_t depth = 0;
      for (auto at = forest.around[block]; at != k_no_block; at = forest.around[at])
        ASSERT_LT(++depth, edges.size());
    }
    const auto live = reached(edges, 0, k_no_block);
    for (BlockIndex block = 0; block < edges.size(); ++block)
      std::erase_if(edges[block], [&](BlockIndex to) { return forest.is_head[to]; });
    for (const auto block : live)
      for (const auto next : edges[block]) EXPECT_FALSE(reached(edges, next, k_no_block).contains(block));
  }
}

TEST(LoopForest, DeepNest_DoesNotOverflowStack) {
  constexpr BlockIndex k_deep = 100000;
  Edges edges(k_deep);
  for (BlockIndex i = 0; i + 1 < k_deep; ++i) edges[i].push_back(i + 1);
  for (BlockIndex i = 0; i < k_deep; ++i) edges[i].push_back(i);
  const auto forest = find_loops({edges, {}});
  EXPECT_TRUE(forest.is_head[k_deep - 1]);
  EXPECT_EQ(forest.around[k_deep - 1], k_no_block);
}

LoopForest joined(const Edges& edges) {
  const ControlFlow flow{edges, {}};
  auto forest = find_loops(flow);
  join_split_loops(flow, forest);
  return forest;
}

// for (step = 1; step <= n; ++step) { if (step % 20 == 0) print(); step(); }, in the layout of a compiler: the
// print block is before the loop's body, and each end of the body jumps to it or past it.
TEST(SplitLoops, SkippedFirstTest_IsOneLoop) {
  //              0    1: print  2: step  3: exit?  4: print?  5: end
  const auto one = joined({{1}, {2}, {3}, {5, 4}, {1, 2}, {}});
  EXPECT_EQ(one.is_head, (std::vector<bool>{false, false, true, false, false, false}));
  for (const BlockIndex block : {1, 3, 4}) EXPECT_EQ(one.around[block], 2u);
  EXPECT_EQ(one.around[2], k_no_block);
  // Three nested loops: some steps print, some of these write a file.
  const auto deep = joined({{1}, {2}, {3}, {6, 4}, {3, 5}, {2, 1}, {}});
  EXPECT_EQ(deep.is_head, (std::vector<bool>{false, false, false, true, false, false, false}));
  for (const BlockIndex block : {1, 2, 4, 5}) EXPECT_EQ(deep.around[block], 3u);
}

TEST(SplitLoops, NestWithOwnExit_StaysTwoLoops) {
  const auto nested = [](const Edges& edges) {
    const auto forest = joined(edges);
    return forest.is_head[1] && forest.is_head[2] && forest.around[2] == 1;
  };
  EXPECT_TRUE(nested({{1}, {2}, {2, 3}, {1, 4}, {}})) << "the outer loop counts by itself";
  EXPECT_TRUE(nested({{1}, {2}, {2, 3, 4}, {1, 4}, {}})) << "the inner one may return as well";
  EXPECT_TRUE(nested({{1}, {2, 1}, {2, 1, 3}, {}})) << "the outer loop may go round without the inner one";
  EXPECT_TRUE(nested({{1}, {2, 4}, {2, 3, 4}, {1}, {}})) << "the outer loop may end before the inner one begins";
  EXPECT_TRUE(nested({{1}, {2}, {2, 3}, {1}})) << "neither ends";
}

// Heads and their loops equal those of natural loops, except that some loops were merged.
TEST(SplitLoops, RandomFlow_LosesOnlyLoopsExitedFromInnerLoop) {
  std::minstd_rand random(9);
  int lost = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto edges = random_flow(random);
    std::vector<Blocks> loops;
    if (!natural_loops(edges, loops)) continue;
    const auto before = find_loops({edges, {}});
    const auto after = joined(edges);
    for (BlockIndex head = 0; head < edges.size(); ++head) {
      EXPECT_LE(after.is_head[head], before.is_head[head]);
      if (after.is_head[head] == before.is_head[head]) continue;
      ++lost;
      // Its blocks are in the loop of another head, which each cycle passes.
      const auto heir = after.around[head];
      ASSERT_NE(heir, k_no_block);
      for (const auto block : loops[head]) EXPECT_TRUE(after.contains(heir, block)) << i;
      Edges within(edges.size());
      for (const auto block : loops[head])
        for (const auto next : edges[block])
          if (loops[head].contains(next) && next != heir) within[block].push_back(next);
      for (const auto next : within[head]) EXPECT_FALSE(reached(within, next, k_no_block).contains(head)) << i;
      for (const auto block : loops[head])
        for (const auto next : edges[block])
          EXPECT_TRUE(after.contains(heir, next) || loops[heir].contains(block)) << i;
    }
  }
  EXPECT_GT(lost, 100);
}

FlowBlock block(std::vector<BlockIndex> targets, bool falls_through = true) {
  return {.targets = std::move(targets), .falls_through = falls_through, .has_hook = true};
}

// for (...) { work; for (...) sum; if (...) print(); }
TEST(LoopMarks, Nest_OuterReportsIterationsInnerEntries) {
  auto print = block({});
  print.calls = true;
  const std::vector<FlowBlock> blocks{block({}), block({}),  block({2}),      block({5}),
                                      print,     block({1}), block({}, false)};
  const auto marks = mark_loops(blocks);
  EXPECT_EQ(marks.iterates,
            (std::vector<BlockIndex>{k_no_block, 1, k_no_block, k_no_block, k_no_block, k_no_block, k_no_block}));
  EXPECT_EQ(marks.enters[1], 2u);
  EXPECT_EQ(marks.enters[0], k_no_block);
  EXPECT_TRUE(marks.marks(1));
  EXPECT_FALSE(marks.marks(4));
}

// smooth(); norm(); with norm's loop inlined: the block's hook runs before the call, so that it cannot report
// the loop behind it.
TEST(LoopMarks, EntryBehindCall_HookBeforeCall_MarksNothing) {
  auto call = block({});
  const auto preheader = FlowBlock{.targets = {}};
  const auto entered = [&] { return mark_loops(std::vector{block({}), call, preheader, block({3}), block({})}); };
  EXPECT_EQ(entered().enters[1], 3u);
  call.calls = true;
  EXPECT_EQ(entered().enters, (std::vector<BlockIndex>(5, k_no_block)));
}

// The head has no hook: the next block on the single path is marked instead, but not one on a branch.
TEST(LoopMarks, SinglePath_FirstHookIsMarked) {
  auto head = block({});
  head.has_hook = false;
  auto call = block({});
  call.calls = true;
  EXPECT_EQ(mark_loops(std::vector<FlowBlock>{block({}), head, call, block({1})}).iterates[2], 1u);
  // Or the nearest one before the end.
  head.targets = {3};
  const auto back = mark_loops(std::vector<FlowBlock>{block({}), head, call, block({1})});
  EXPECT_EQ(back.iterates[3], 1u);
  EXPECT_TRUE(back.at_end[3]);
  auto end = block({1});
  end.has_hook = false;
  const auto branched = mark_loops(std::vector<FlowBlock>{block({}), head, call, end});
  EXPECT_EQ(branched.iterates, (std::vector<BlockIndex>(4, k_no_block)));
}

// Marks a block that every iteration executes behind the exit test: the last test does not reach it.
TEST(LoopMarks, ExitTest_HookBehindItIsMarked) {
  auto call = block({});
  call.calls = true;
  auto latch = block({1}, false);
  const auto marked = [](const std::vector<FlowBlock>& blocks) {
    const auto iterates = mark_loops(blocks).iterates;
    return std::ranges::find_if(iterates, [](auto head) { return head != k_no_block; }) - iterates.begin();
  };
  EXPECT_EQ(marked({block({}), block({5}), block({5}), call, latch, block({})}), 3) << "while (a && b) call();";
  EXPECT_EQ(marked({block({}), call, block({1}), block({})}), 1) << "do call(); while (a);";
  // do { if (prints) print(); call(); if (ends) break; } while (true): one cycle passes print, one does not.
  auto print = block({});
  print.calls = true;
  EXPECT_EQ(marked({block({}), print, call, block({6}), block({1}), block({2}, false), block({})}), 4);
  // No exit test, and cycles that branch before and after the call.
  auto head = block({3});
  head.has_hook = false;
  EXPECT_EQ(marked({block({}), head, block({}), call, block({6}), latch, block({1}, false)}), 4);
}

// while (true) switch (next()) { case 0: a(); break; case 1: b(); break; }: an indirect jump.
TEST(LoopMarks, IndirectJump_LeadsToBlocksWithoutPredecessor) {
  FlowBlock choice{
      .targets = {}, .falls_through = false, .has_indirect_jump = true, .has_hook = true, .calls = true};
  const auto marks = mark_loops(std::vector<FlowBlock>{choice, block({0}, false), block({0}, false)});
  EXPECT_TRUE(marks.forest.is_head[0]);
  EXPECT_EQ(marks.forest.around[1], 0u);
  EXPECT_EQ(marks.forest.around[2], 0u);
  EXPECT_EQ(marks.iterates[0], 0u);
}

}  // namespace
}  // namespace terrace::observe
