// SPDX-License-Identifier: Apache-2.0
// Implements the search for loops in a function's control-flow graph, for the assembler wrapper and the launcher.
// See loop_forest.hpp.
#include "observe/code/loop_forest.hpp"

#include <utility>

namespace terrace::observe {

namespace {

class DepthFirstWalk {
 public:
  explicit DepthFirstWalk(const ControlFlow& flow) : flow_(flow), on_path_(flow.successors.size()) {
    forest_.around.assign(flow.successors.size(), k_no_block);
    forest_.is_head.assign(flow.successors.size(), false);
    visited_.assign(flow.successors.size(), false);
  }

  // Walks all blocks that are reachable from the entry and were not visited yet.
  void from(BlockIndex entry) {
    if (visited_[entry]) return;
    enter(entry);
    while (!path_.empty()) {
      const auto [block, next] = path_.back();
      if (next == flow_.successors[block].size()) {
        leave();
        continue;
      }
      ++path_.back().next;
      const auto successor = flow_.successors[block][next];
      if (!visited_[successor])
        enter(successor);
      else
        on_visited(block, successor);
    }
  }
  LoopForest take() { return std::move(forest_); }

 private:
  struct Step {
    BlockIndex block;
    std::size_t next;  // index of the next successor to visit
  };

  void enter(BlockIndex block) {
    visited_[block] = true;
    path_.push_back({block, 0});
    on_path_[block] = path_.size();
  }
  void leave() {
    const auto block = path_.back().block;
    on_path_[block] = 0;
    path_.pop_back();
    if (!path_.empty()) set_loop(path_.back().block, forest_.around[block]);
  }
  // Handles an edge to a block that was visited before.
  void on_visited(BlockIndex block, BlockIndex successor) {
    if (on_path_[successor] != 0) {
      forest_.is_head[successor] = true;
      set_loop(block, successor);
      return;
    }
    // The edge may enter that block's loop past its head (irreducible): then both share only the loops around it.
    auto head = forest_.around[successor];
    while (head != k_no_block && on_path_[head] == 0) head = forest_.around[head];
    set_loop(block, head);
  }
  // Puts the block into the loop with that head, and keeps the chain of heads around it ordered by the walk's
  // path.
  void set_loop(BlockIndex block, BlockIndex head) {
    auto& around = forest_.around;
    while (head != k_no_block && block != head) {
      const auto outer = around[block];
      if (outer == head) return;
      if (outer == k_no_block || on_path_[outer] < on_path_[head]) {
        around[block] = head;
        block = head;
        head = outer;
      } else {
        block = outer;
      }
    }
  }

  const ControlFlow& flow_;
  LoopForest forest_;
  std::vector<bool> visited_;
  std::vector<std::size_t> on_path_;  // position on the current path, from 1; 0: not on it
  std::vector<Step> path_;
};

class SplitLoops {
 public:
  SplitLoops(const ControlFlow& flow, LoopForest& forest) : flow_(flow), forest_(forest) {}

  // Joins loops that are split with their inner parts. Returns whether there was one.
  bool join() {
    find_exits();
    bool joined = false;
    for (BlockIndex outer = 0; outer < exits_.size(); ++outer) {
      const auto inner = exits_[outer];
      // The exits of a loop that was joined in this round are out of date.
      if (inner == k_no_block || inner == outer || !forest_.is_head[outer] || forest_.around[inner] != outer)
        continue;
      if (!is_on_every_cycle(flow_, forest_, outer, inner)) continue;
      replace(outer, inner);
      joined = true;
    }
    return joined;
  }

 private:
  // Sets exits_, by head: the head of the child loop from which all edges out of the loop come; the head itself
  // where they come from several loops or from its own blocks; k_no_block where there are none.
  void find_exits() {
    exits_.assign(flow_.successors.size(), k_no_block);
    depths_.assign(exits_.size(), 0);
    for (BlockIndex block = 0; block < exits_.size(); ++block)
      for (const auto next : flow_.successors[block]) leave(forest_.loop_of(block), forest_.loop_of(next));
  }
  // Records an edge from one loop to another: it leaves the loops up to the innermost one around both.
  void leave(BlockIndex loop, BlockIndex other) {
    for (auto inside = loop; loop != other;) {
      if (depth(loop) < depth(other)) {
        other = forest_.around[other];
        continue;
      }
      auto& by = exits_[loop];
      by = by == k_no_block || by == inside ? inside : loop;
      inside = std::exchange(loop, forest_.around[loop]);
    }
  }
  // Returns how deeply the loop with that head is nested.
  std::uint32_t depth(BlockIndex head) {
    std::uint32_t depth = 0;
    auto known = head;
    for (; known != k_no_block && depths_[known] == 0; known = forest_.around[known]) ++depth;
    if (known != k_no_block) depth += depths_[known];
    auto left = depth;
    for (auto at = head; at != known; at = forest_.around[at]) depths_[at] = left--;
    return depth;
  }
  // Makes the inner loop's head stand for both loops.
  void replace(BlockIndex outer, BlockIndex inner) {
    auto& around = forest_.around;
    forest_.is_head[outer] = false;
    around[inner] = around[outer];
    for (auto& head : around)
      if (head == outer) head = inner;
    around[outer] = inner;
  }

  const ControlFlow& flow_;
  LoopForest& forest_;
  std::vector<BlockIndex> exits_;
  std::vector<std::uint32_t> depths_;  // by head, from 1; 0: not computed yet
};

}  // namespace

bool LoopForest::contains(BlockIndex head, BlockIndex block) const {
  for (auto at = loop_of(block); at != k_no_block; at = around[at])
    if (at == head) return true;
  return false;
}

LoopForest find_loops(const ControlFlow& flow) {
  DepthFirstWalk walk(flow);
  if (!flow.successors.empty()) walk.from(0);
  for (const auto entry : flow.entries) walk.from(entry);
  return walk.take();
}

bool is_on_every_cycle(const ControlFlow& flow, const LoopForest& forest, BlockIndex head, BlockIndex block) {
  if (block == head) return true;
  std::vector<bool> seen(flow.successors.size());
  std::vector<BlockIndex> left{head};
  while (!left.empty()) {
    const auto at = left.back();
    left.pop_back();
    for (const auto next : flow.successors[at]) {
      if (next == head) return false;
      if (next == block || seen[next] || !forest.contains(head, next)) continue;
      seen[next] = true;
      left.push_back(next);
    }
  }
  return true;
}

void join_split_loops(const ControlFlow& flow, LoopForest& forest) {
  SplitLoops loops(flow, forest);
  while (loops.join()) {
  }
}

}  // namespace terrace::observe
