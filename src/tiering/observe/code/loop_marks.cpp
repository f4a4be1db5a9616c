// See loop_marks.hpp.
#include "observe/code/loop_marks.hpp"

#include <algorithm>
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
    join_split_loops(flow, marks_.forest);
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
  // A hook that every turn passes, where it is known that there is one: behind the test that all ways round lead
  // through, as long as there is one way to go within the loop. Else from the head on; back from it, as long as
  // there is one way to come from; wherever all ways round meet.
  void mark_turns(BlockIndex head) {
    const auto way = way_along(successors_, head, head);
    if (const auto tested = tested_blocks(head, way); tested != 0) {
      if (mark_first(head, std::span(way).subspan(tested)) != k_no_block) return;
    } else if (const auto test = meeting_before(head, [&](auto block) { return leaves(head, block); });
               test != k_no_block) {
      if (mark_first(head, behind(way_along(successors_, head, test))) != k_no_block) return;
    }
    if (mark_first(head, way) != k_no_block) return;
    const auto back = way_along(predecessors_, head, head);
    if (const auto end = mark_first(head, behind(back)); end != k_no_block)
      marks_.at_end[end] = true;
    else if (const auto meeting = meeting_before(head, [&](auto block) { return blocks_[block].has_hook; });
             meeting != k_no_block)
      mark_turn(head, meeting);
  }
  // The block and what follows along these edges within the loop.
  [[nodiscard]] std::vector<BlockIndex> way_along(const Edges& edges, BlockIndex head, BlockIndex from) const {
    std::vector<BlockIndex> way{from};
    auto block = only_way(edges, head, from);
    for (int i = 0; i < k_far && block != k_no_block && block != from; ++i, block = only_way(edges, head, block))
      way.push_back(block);
    return way;
  }
  static std::span<const BlockIndex> behind(const std::vector<BlockIndex>& way) {
    return std::span(way).subspan(1);
  }
  [[nodiscard]] bool leaves(BlockIndex head, BlockIndex block) const {
    return std::ranges::any_of(successors_[block], [&](auto next) { return !forest().holds(head, next); });
  }
  // How many blocks on the way from the head on decide whether there is another turn.
  [[nodiscard]] std::size_t tested_blocks(BlockIndex head, std::span<const BlockIndex> way) const {
    std::size_t tested = 0;
    for (std::size_t i = 0; i < way.size() && !blocks_[way[i]].calls; ++i)
      if (leaves(head, way[i])) tested = i + 1;
    return tested;
  }
  BlockIndex mark_first(BlockIndex head, std::span<const BlockIndex> way) {
    const auto found = std::ranges::find_if(way, [&](BlockIndex block) { return mark_turn(head, block); });
    return found == way.end() ? k_no_block : *found;
  }
  // Back from the head, the first block of the loop's own that is wanted and that all ways round lead through.
  template <class IsWanted>
  [[nodiscard]] BlockIndex meeting_before(BlockIndex head, IsWanted is_wanted) const {
    std::vector<bool> seen(blocks_.size());
    std::vector<BlockIndex> near{head};
    int tried = 0;
    for (std::size_t i = 0; i < near.size() && tried < k_far; ++i)
      for (const auto before : predecessors_[near[i]]) {
        if (seen[before] || !forest().holds(head, before)) continue;
        seen[before] = true;
        near.push_back(before);
        if (forest().loop_of(before) != head || !is_wanted(before)) continue;
        if (is_met(head, before)) return before;
        ++tried;
      }
    return k_no_block;
  }
  [[nodiscard]] bool is_met(BlockIndex head, BlockIndex meeting) const {
    std::vector<bool> seen(blocks_.size());
    std::vector<BlockIndex> left{head};
    while (!left.empty()) {
      const auto block = left.back();
      left.pop_back();
      for (const auto next : successors_[block]) {
        if (next == meeting || !forest().holds(head, next)) continue;
        if (next == head) return false;
        if (seen[next]) continue;
        seen[next] = true;
        left.push_back(next);
      }
    }
    return true;
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
  // Marks the nearest hooked block that always leads into the loop: searches backwards along single predecessors.
  // Stops at a block that contains a call: its hook runs before the call, so that the loop would begin too early.
  void mark_entry(BlockIndex head, BlockIndex before) {
    for (int i = 0; i < k_far && !blocks_[before].calls; ++i) {
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
