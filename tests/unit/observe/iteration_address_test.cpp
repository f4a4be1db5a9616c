// Tests the choice of the instruction that counts a loop's iterations: in random control flow, by random walks,
// and in code whose lines of 64 bytes are known.
#include "observe/symbols/files/iteration_address.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "observe/code/loop_marks.hpp"

namespace terrace::observe {
namespace {

// A function of random instructions: some jump, some call.
struct Function {
  std::vector<Instruction> code;
  std::vector<CodeBlock> blocks;
  ControlFlow flow;
  LoopForest forest;

  void analyse() {
    blocks = cut_blocks(code);
    auto marks = mark_loops(flow_blocks(blocks));
    flow = std::move(marks.flow);
    forest = std::move(marks.forest);
  }
  [[nodiscard]] std::uint64_t address_for(BlockIndex head) const {
    return iteration_address(blocks, flow, forest, head);
  }
};

Function random_function(std::minstd_rand& random) {
  Function function;
  const std::size_t count = 5 + random() % 40;
  std::uint64_t at = 0x1000 + random() % 64;
  for (std::size_t i = 0; i < count; ++i) {
    Instruction one;
    one.at = at;
    one.next = at += 1 + random() % 12;
    one.calls = random() % 8 == 0;
    function.code.push_back(one);
  }
  for (auto& one : function.code) {
    if (one.calls || random() % 3 != 0) continue;
    one.jumps = true;
    one.target = function.code[random() % count].at;
    one.falls_through = random() % 4 != 0;
  }
  function.code.back().falls_through = false;
  function.analyse();
  return function;
}

// Walks the loop's code at random from its header on, while it stays in the loop. Checks that each iteration
// executes the instruction once, and that the calls of an iteration are all before it or all behind it.
void expect_counts_iterations(const Function& function, BlockIndex head, std::uint64_t address,
                              std::minstd_rand& random) {
  bool any_before = false;
  bool any_behind = false;
  for (int round = 0; round < 30; ++round) {
    int times = 0;
    bool calls_before = false;
    bool calls_behind = false;
    auto block = head;
    for (int step = 0; step < 200; ++step) {
      for (const auto& one : function.blocks[block]) {
        if (one.at == address) ++times;
        if (one.calls) (times == 0 || one.at == address ? calls_before : calls_behind) = true;
      }
      const auto& next = function.flow.successors[block];
      if (next.empty()) break;
      block = next[random() % next.size()];
      if (!function.forest.contains(head, block)) break;
      if (block != head) continue;
      ASSERT_EQ(times, 1);
      any_before = any_before || (calls_before && address != 0);
      any_behind = any_behind || calls_behind;
      calls_before = calls_behind = false;
      times = 0;
    }
  }
  const auto is_call = [&](const Instruction& one) { return one.at == address && one.calls; };
  // A breakpoint on a call is hit before it, so that call is behind it.
  const bool is_divided = any_before && any_behind && std::ranges::none_of(function.code, is_call);
  EXPECT_FALSE(is_divided);
}

// Returns the blocks that can be reached from one by edges between blocks of a loop that have no call.
std::vector<bool> reached_without_call(const Function& function, BlockIndex head, BlockIndex from) {
  std::vector<bool> reached(function.blocks.size());
  const auto has_no_call = [&](BlockIndex block) {
    return std::ranges::none_of(function.blocks[block], &Instruction::calls) &&
           function.forest.contains(head, block);
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockIndex block = 0; block < reached.size(); ++block) {
      if (!(block == from || reached[block]) || !has_no_call(block)) continue;
      for (const auto next : function.flow.successors[block])
        if (!reached[next]) changed = reached[next] = true;
    }
  }
  return reached;
}

// Returns whether the block is in a loop, not around `head`, that can iterate without a call.
bool is_in_tight_loop(const Function& function, BlockIndex head, BlockIndex block) {
  for (auto loop = function.forest.loop_of(block); loop != k_no_block; loop = function.forest.around[loop])
    if (!function.forest.contains(loop, head) && reached_without_call(function, loop, loop)[loop]) return true;
  return false;
}

TEST(IterationAddress, RandomFunctions_ExecutedOnceAndNotNearTightLoop) {
  std::minstd_rand random(3);
  int found = 0;
  int moved = 0;
  int none = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto function = random_function(random);
    for (BlockIndex head = 0; head < function.blocks.size(); ++head) {
      if (!function.forest.is_head[head]) continue;
      const auto address = function.address_for(head);
      if (address == 0) {
        ++none;
        continue;
      }
      ++found;
      moved += address == function.blocks[head].front().at ? 0 : 1;
      expect_counts_iterations(function, head, address, random);
      for (BlockIndex block = 0; block < function.blocks.size(); ++block) {
        if (!is_in_tight_loop(function, head, block)) continue;
        for (const auto& one : function.blocks[block])
          EXPECT_TRUE(one.next - 1 < address / 64 * 64 || one.at >= address / 64 * 64 + 64);
      }
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(moved, 100);
  EXPECT_GT(none, 100);
}

// for (...) { for (...) x; call(); y; }: header and inner loop in one line, the rest in the next one.
Function nested_loop(std::uint64_t begin) {
  Function function;
  const auto add = [&](std::uint64_t bytes) -> Instruction& {
    const auto at = function.code.empty() ? begin : function.code.back().next;
    Instruction one;
    one.at = at;
    one.next = at + bytes;
    function.code.push_back(one);
    return function.code.back();
  };
  add(8);                // the outer loop's header
  auto& inner = add(8);  // the inner loop
  inner.jumps = true;
  inner.target = inner.at;
  add(8).calls = true;
  auto& end = add(8);
  end.jumps = true;
  end.target = begin;
  add(8).falls_through = false;
  function.analyse();
  return function;
}

TEST(IterationAddress, HeaderNearInnerLoop_AddressIsInAnotherBlock) {
  // The lines begin at the header, at the call, and behind the call.
  EXPECT_EQ(nested_loop(0x1000).address_for(0), 0U) << "all in one line";
  EXPECT_EQ(nested_loop(0x1000 - 8).address_for(0), 0x1000U - 8) << "the header is in the line before";
  EXPECT_EQ(nested_loop(0x1000 - 16).address_for(0), 0x1000U) << "the call is in the line behind";
  EXPECT_EQ(nested_loop(0x1000 - 24).address_for(0), 0x1000U) << "the jump back is in the line behind";
}

TEST(IterationAddress, CallsOnBothSides_IsNotBetweenThem) {
  // call(); for (...) x; y; call(); jump back. Only "y" is in another line than the inner loop: the calls of an
  // iteration are on both sides of it.
  Function function;
  std::uint64_t at = 0x1000;
  const auto add = [&](std::uint64_t bytes) -> Instruction& {
    Instruction one;
    one.at = at;
    one.next = at += bytes;
    function.code.push_back(one);
    return function.code.back();
  };
  add(4).calls = true;
  auto& inner = add(60);
  inner.jumps = true;
  inner.target = inner.at;
  add(60);
  add(5).calls = true;
  auto& other = add(4);
  other.jumps = true;
  other.target = other.at;
  auto& end = add(4);
  end.jumps = true;
  end.target = 0x1000;
  add(1).falls_through = false;
  function.analyse();
  EXPECT_EQ(function.address_for(0), 0U);
}

}  // namespace
}  // namespace terrace::observe
