// See loop_forest.hpp.
#include "observe/code/loop_forest.hpp"

namespace terrace::observe {

namespace {

class Walk {
 public:
  explicit Walk(const ControlFlow& flow) : flow_(flow), on_path_(flow.successors.size()) {
    forest_.around.assign(flow.successors.size(), k_no_block);
    forest_.is_head.assign(flow.successors.size(), false);
    walked_.assign(flow.successors.size(), false);
  }

  void from(BlockIndex entry) {
    if (walked_[entry]) return;
    enter(entry);
    while (!path_.empty()) {
      const auto [block, next] = path_.back();
      if (next == flow_.successors[block].size()) {
        leave();
        continue;
      }
      ++path_.back().next;
      const auto successor = flow_.successors[block][next];
      if (!walked_[successor])
        enter(successor);
      else
        meet(block, successor);
    }
  }
  LoopForest take() { return std::move(forest_); }

 private:
  struct Step {
    BlockIndex block;
    std::size_t next;  // of its successors
  };

  void enter(BlockIndex block) {
    walked_[block] = true;
    path_.push_back({block, 0});
    on_path_[block] = path_.size();
  }
  void leave() {
    const auto block = path_.back().block;
    on_path_[block] = 0;
    path_.pop_back();
    if (!path_.empty()) put_into(path_.back().block, forest_.around[block]);
  }
  // An edge to a block that was walked before.
  void meet(BlockIndex block, BlockIndex successor) {
    if (on_path_[successor] != 0) {
      forest_.is_head[successor] = true;
      put_into(block, successor);
      return;
    }
    // Its loop may have been entered past the head: then it is the loops around that both are in.
    auto head = forest_.around[successor];
    while (head != k_no_block && on_path_[head] == 0) head = forest_.around[head];
    put_into(block, head);
  }
  // The block is in the loop with that head: so are, or have been, the heads of the loops around it.
  void put_into(BlockIndex block, BlockIndex head) {
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
  std::vector<bool> walked_;
  std::vector<std::size_t> on_path_;  // place on the path that is walked, from 1; 0: not on it
  std::vector<Step> path_;
};

}  // namespace

bool LoopForest::holds(BlockIndex head, BlockIndex block) const {
  for (auto at = loop_of(block); at != k_no_block; at = around[at])
    if (at == head) return true;
  return false;
}

LoopForest find_loops(const ControlFlow& flow) {
  Walk walk(flow);
  if (!flow.successors.empty()) walk.from(0);
  for (const auto entry : flow.entries) walk.from(entry);
  return walk.take();
}

}  // namespace terrace::observe
