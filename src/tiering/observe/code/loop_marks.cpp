// SPDX-License-Identifier: Apache-2.0
// Chooses the blocks whose hooks report loops, for the assembler wrapper and the launcher. See loop_marks.hpp.
#include "observe/code/loop_marks.hpp"

#include <algorithm>
#include <utility>

namespace terrace::observe {

namespace {

using Edges = std::vector<std::vector<BlockIndex>>;

constexpr int k_max_distance = 8;  // blocks from a loop's head within which a hook is searched for

// Makes the control-flow graph: jumps, fall-through edges, and indirect jumps to all blocks without predecessor.
ControlFlow connect(std::span<const FlowBlock> blocks) {
  ControlFlow flow;
  flow.successors.resize(blocks.size());
  std::vector<bool> is_reached(blocks.size());
  for (BlockIndex i = 0; i < blocks.size(); ++i) {
    auto& successors = flow.successors[i];
    successors = blocks[i].targets;
    if (blocks[i].falls_through && i + 1 < blocks.size()) successors.push_back(i + 1);
    for (const auto successor : successors) is_reached[successor] = true;
  }
  for (BlockIndex i = 1; i < blocks.size(); ++i)
    if (!is_reached[i]) flow.entries.push_back(i);
  for (BlockIndex i = 0; i < blocks.size(); ++i)
    if (blocks[i].has_indirect_jump)
      flow.successors[i].insert(flow.successors[i].end(), flow.entries.begin(), flow.entries.end());
  return flow;
}

Edges reverse_edges(const Edges& successors) {
  Edges predecessors(successors.size());
  for (BlockIndex i = 0; i < successors.size(); ++i)
    for (const auto successor : successors[i]) predecessors[successor].push_back(i);
  return predecessors;
}

class Marker {
 public:
  explicit Marker(std::span<const FlowBlock> blocks) : blocks_(blocks), is_small_(blocks.size(), true) {
    marks_.flow = connect(blocks);
    predecessors_ = reverse_edges(marks_.flow.successors);
    marks_.forest = find_loops(marks_.flow);
    join_split_loops(marks_.flow, marks_.forest);
    marks_.iterates.assign(blocks.size(), k_no_block);
    marks_.enters.assign(blocks.size(), k_no_block);
    marks_.at_end.assign(blocks.size(), false);
    marks_.is_in_small_loop.assign(blocks.size(), false);
  }
  LoopMarks mark() {
    find_small_loops();
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      if (!forest().is_head[i]) continue;
      if (is_small_[i])
        mark_entries(i);
      else
        mark_iterations(i);
    }
    for (BlockIndex i = 0; i < blocks_.size(); ++i)
      if (const auto head = forest().loop_of(i); head != k_no_block) marks_.is_in_small_loop[i] = is_small_[head];
    return std::move(marks_);
  }

 private:
  // Finds the loops that neither call a function nor contain a loop.
  void find_small_loops() {
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      if (forest().is_head[i] && forest().around[i] != k_no_block) is_small_[forest().around[i]] = false;
      if (const auto head = forest().loop_of(i); head != k_no_block && blocks_[i].calls) is_small_[head] = false;
    }
  }
  // Marks a hooked block that every iteration executes. Searches, in this order: behind the exit test that all
  // cycles pass, along single successors; from the head on, along single successors; backwards from the head,
  // along single predecessors; any block that is on all cycles.
  void mark_iterations(BlockIndex head) {
    const auto path = single_path(successors(), head, head);
    if (const auto num_tests = num_test_blocks(head, path); num_tests != 0) {
      if (mark_first_hooked(head, std::span(path).subspan(num_tests)) != k_no_block) return;
    } else if (const auto test = common_block_before(head, [&](auto block) { return leaves(head, block); });
               test != k_no_block) {
      if (mark_first_hooked(head, behind(single_path(successors(), head, test))) != k_no_block) return;
    }
    if (mark_first_hooked(head, path) != k_no_block) return;
    const auto back = single_path(predecessors_, head, head);
    if (const auto end = mark_first_hooked(head, behind(back)); end != k_no_block)
      marks_.at_end[end] = true;
    else if (const auto common = common_block_before(head, [&](auto block) { return blocks_[block].has_hook; });
             common != k_no_block)
      mark_iteration(head, common);
  }
  // Returns the block and those that follow it along single edges within the loop.
  [[nodiscard]] std::vector<BlockIndex> single_path(const Edges& edges, BlockIndex head, BlockIndex from) const {
    std::vector<BlockIndex> path{from};
    auto block = single_neighbour(edges, head, from);
    for (int i = 0; i < k_max_distance && block != k_no_block && block != from;
         ++i, block = single_neighbour(edges, head, block))
      path.push_back(block);
    return path;
  }
  static std::span<const BlockIndex> behind(const std::vector<BlockIndex>& path) {
    return std::span(path).subspan(1);
  }
  [[nodiscard]] bool leaves(BlockIndex head, BlockIndex block) const {
    return std::ranges::any_of(successors()[block], [&](auto next) { return !forest().contains(head, next); });
  }
  // Returns the number of blocks at the path's begin up to the last one that may leave the loop.
  [[nodiscard]] std::size_t num_test_blocks(BlockIndex head, std::span<const BlockIndex> path) const {
    std::size_t num_tests = 0;
    for (std::size_t i = 0; i < path.size() && !blocks_[path[i]].calls; ++i)
      if (leaves(head, path[i])) num_tests = i + 1;
    return num_tests;
  }
  BlockIndex mark_first_hooked(BlockIndex head, std::span<const BlockIndex> path) {
    const auto found = std::ranges::find_if(path, [&](BlockIndex block) { return mark_iteration(head, block); });
    return found == path.end() ? k_no_block : *found;
  }
  // Returns the nearest block before the head that is in no inner loop, matches, and is on every cycle of the
  // loop.
  template <class Matches>
  [[nodiscard]] BlockIndex common_block_before(BlockIndex head, Matches matches) const {
    std::vector<bool> seen(blocks_.size());
    std::vector<BlockIndex> near{head};
    int tried = 0;
    for (std::size_t i = 0; i < near.size() && tried < k_max_distance; ++i)
      for (const auto before : predecessors_[near[i]]) {
        if (seen[before] || !forest().contains(head, before)) continue;
        seen[before] = true;
        near.push_back(before);
        if (forest().loop_of(before) != head || !matches(before)) continue;
        if (is_on_every_cycle(marks_.flow, forest(), head, before)) return before;
        ++tried;
      }
    return k_no_block;
  }
  bool mark_iteration(BlockIndex head, BlockIndex block) {
    if (!blocks_[block].has_hook || marks_.iterates[block] != k_no_block) return false;
    marks_.iterates[block] = head;
    return true;
  }
  // Returns the one block of the loop that the block's edges lead to, unless that is in an inner loop.
  [[nodiscard]] BlockIndex single_neighbour(const Edges& edges, BlockIndex head, BlockIndex block) const {
    auto only = k_no_block;
    for (const auto next : edges[block]) {
      if (!forest().contains(head, next)) continue;
      if (only != k_no_block && only != next) return k_no_block;
      only = next;
    }
    return only != k_no_block && forest().loop_of(only) == head ? only : k_no_block;
  }
  void mark_entries(BlockIndex head) {
    for (const auto before : predecessors_[head])
      if (!forest().contains(head, before)) mark_entry(head, before);
  }
  // Marks the nearest hooked block that always leads into the loop: searches backwards along single predecessors.
  // Stops at a block that contains a call: its hook runs before the call, so that the loop would begin too early.
  void mark_entry(BlockIndex head, BlockIndex before) {
    for (int i = 0; i < k_max_distance && !blocks_[before].calls; ++i) {
      if (blocks_[before].has_hook) {
        marks_.enters[before] = head;
        return;
      }
      const auto& from = predecessors_[before];
      if (from.size() != 1 || forest().loop_of(from.front()) != forest().loop_of(before)) return;
      before = from.front();
    }
  }
  [[nodiscard]] const LoopForest& forest() const { return marks_.forest; }
  [[nodiscard]] const Edges& successors() const { return marks_.flow.successors; }

  std::span<const FlowBlock> blocks_;
  LoopMarks marks_;
  Edges predecessors_;
  std::vector<bool> is_small_;  // by head
};

}  // namespace

LoopMarks mark_loops(std::span<const FlowBlock> blocks) { return Marker(blocks).mark(); }

}  // namespace terrace::observe
