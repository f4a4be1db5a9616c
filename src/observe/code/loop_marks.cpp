// See loop_marks.hpp.
#include "observe/code/loop_marks.hpp"

#include <utility>

namespace terrace::observe {

namespace {

using Edges = std::vector<std::vector<BlockIndex>>;

constexpr int k_far = 8;  // blocks: so far from a loop's head a hook is looked for

ControlFlow connect(std::span<const FlowBlock> blocks) {
  ControlFlow flow;
  flow.successors.resize(blocks.size());
  std::vector<bool> is_reached(blocks.size());
  for (BlockIndex i = 0; i < blocks.size(); ++i) {
    auto& successors = flow.successors[i];
    successors = blocks[i].targets;
    if (blocks[i].goes_on && i + 1 < blocks.size()) successors.push_back(i + 1);
    for (const auto successor : successors) is_reached[successor] = true;
  }
  for (BlockIndex i = 1; i < blocks.size(); ++i)
    if (!is_reached[i]) flow.entries.push_back(i);
  for (BlockIndex i = 0; i < blocks.size(); ++i)
    if (blocks[i].goes_anywhere)
      flow.successors[i].insert(flow.successors[i].end(), flow.entries.begin(), flow.entries.end());
  return flow;
}

Edges turn_round(const Edges& successors) {
  Edges predecessors(successors.size());
  for (BlockIndex i = 0; i < successors.size(); ++i)
    for (const auto successor : successors[i]) predecessors[successor].push_back(i);
  return predecessors;
}

class Marker {
 public:
  Marker(std::span<const FlowBlock> blocks, const ControlFlow& flow)
      : blocks_(blocks),
        successors_(flow.successors),
        predecessors_(turn_round(flow.successors)),
        is_small_(blocks.size(), true) {
    marks_.forest = find_loops(flow);
    marks_.turns.assign(blocks.size(), k_no_block);
    marks_.enters.assign(blocks.size(), k_no_block);
    marks_.at_end.assign(blocks.size(), false);
    marks_.is_in_small.assign(blocks.size(), false);
  }
  LoopMarks mark() {
    find_small_loops();
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      if (!forest().is_head[i]) continue;
      if (is_small_[i])
        mark_entries(i);
      else
        mark_turns(i);
    }
    for (BlockIndex i = 0; i < blocks_.size(); ++i)
      if (const auto head = forest().loop_of(i); head != k_no_block) marks_.is_in_small[i] = is_small_[head];
    return std::move(marks_);
  }

 private:
  // Those that neither call nor hold another.
  void find_small_loops() {
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      if (forest().is_head[i] && forest().around[i] != k_no_block) is_small_[forest().around[i]] = false;
      if (const auto head = forest().loop_of(i); head != k_no_block && blocks_[i].calls) is_small_[head] = false;
    }
  }
  // From the head on, as long as there is one way to go within the loop; else back from where it jumps to its
  // head, as long as there is one way to come from.
  void mark_turns(BlockIndex head) {
    if (mark_turn(head, head) || mark_along(successors_, head) != k_no_block) return;
    if (const auto end = mark_along(predecessors_, head); end != k_no_block) marks_.at_end[end] = true;
  }
  BlockIndex mark_along(const Edges& edges, BlockIndex head) {
    auto block = only_way(edges, head, head);
    for (int i = 0; i < k_far && block != k_no_block && block != head; ++i, block = only_way(edges, head, block))
      if (mark_turn(head, block)) return block;
    return k_no_block;
  }
  bool mark_turn(BlockIndex head, BlockIndex block) {
    if (!blocks_[block].has_hook || marks_.turns[block] != k_no_block) return false;
    marks_.turns[block] = head;
    return true;
  }
  // Where all that leads from a block along these edges and stays in the loop leads to.
  [[nodiscard]] BlockIndex only_way(const Edges& edges, BlockIndex head, BlockIndex block) const {
    auto way = k_no_block;
    for (const auto next : edges[block]) {
      if (!forest().holds(head, next)) continue;
      if (way != k_no_block && way != next) return k_no_block;
      way = next;
    }
    return way != k_no_block && forest().loop_of(way) == head ? way : k_no_block;
  }
  void mark_entries(BlockIndex head) {
    for (const auto before : predecessors_[head])
      if (!forest().holds(head, before)) mark_entry(head, before);
  }
  // Back from the block that leads into the loop, as long as there is one way to come from.
  void mark_entry(BlockIndex head, BlockIndex before) {
    for (int i = 0; i < k_far; ++i) {
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

  std::span<const FlowBlock> blocks_;
  const Edges& successors_;
  Edges predecessors_;
  std::vector<bool> is_small_;  // by head
  LoopMarks marks_;
};

}  // namespace

LoopMarks mark_loops(std::span<const FlowBlock> blocks) {
  const auto flow = connect(blocks);
  return Marker(blocks, flow).mark();
}

}  // namespace terrace::observe
