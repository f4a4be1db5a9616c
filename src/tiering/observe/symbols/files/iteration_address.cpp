// SPDX-License-Identifier: Apache-2.0
// Searches a loop's blocks for an instruction on which a breakpoint counts iterations. See iteration_address.hpp.
#include "observe/symbols/files/iteration_address.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

namespace terrace::observe {

namespace {

constexpr std::uint64_t k_line_bytes = 64;  // of code that an armed breakpoint slows
constexpr int k_max_tried = 256;            // blocks of a loop

std::uint64_t line_of(std::uint64_t address) { return address / k_line_bytes; }

bool has_call(CodeBlock block) { return std::ranges::any_of(block, &Instruction::calls); }

class Search {
 public:
  Search(std::span<const CodeBlock> blocks, const ControlFlow& flow, const LoopForest& forest, BlockIndex head)
      : blocks_(blocks), flow_(flow), forest_(forest), head_(head) {}

  std::uint64_t find() {
    find_busy_lines();
    std::uint64_t second_choice = 0;
    int tried = 0;
    for (std::size_t i = 0; i < blocks_.size() && tried < k_max_tried; ++i) {
      // The header comes first, then the blocks behind it.
      const auto block = static_cast<BlockIndex>((head_ + i) % blocks_.size());
      if (forest_.loop_of(block) != head_) continue;
      ++tried;
      for (const auto part : candidates(block))
        for (const auto& one : part) {
          if (busy_lines_.contains(line_of(one.at))) continue;
          if (is_inside_function(one.at)) return one.at;
          if (second_choice == 0) second_choice = one.at;
        }
    }
    return second_choice;
  }

 private:
  // Finds the lines with instructions of loops that do not contain this one and may iterate without a call.
  void find_busy_lines() {
    std::vector<bool> is_tight(blocks_.size());  // by head
    for (BlockIndex i = 0; i < blocks_.size(); ++i) is_tight[i] = forest_.is_head[i] && iterates_without_call(i);
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      auto loop = forest_.loop_of(i);
      while (loop != k_no_block && !is_tight[loop]) loop = forest_.around[loop];
      if (loop == k_no_block || forest_.contains(loop, head_)) continue;
      for (const auto& one : blocks_[i])
        for (auto line = line_of(one.at); line <= line_of(one.next - 1); ++line) busy_lines_.insert(line);
    }
  }

  // Returns whether a way from the head of a loop to itself has no call.
  [[nodiscard]] bool iterates_without_call(BlockIndex head) const {
    std::vector<BlockIndex> left{head};
    std::vector<bool> seen(blocks_.size());
    while (!left.empty()) {
      const auto block = left.back();
      left.pop_back();
      if (seen[block] || has_call(blocks_[block]) || !forest_.contains(head, block)) continue;
      seen[block] = true;
      for (const auto next : flow_.successors[block]) {
        if (next == head) return true;
        left.push_back(next);
      }
    }
    return false;
  }

  [[nodiscard]] bool is_inside_function(std::uint64_t address) const {
    const auto begin = line_of(address) * k_line_bytes;
    return begin >= blocks_.front().front().at && begin + k_line_bytes <= blocks_.back().back().next;
  }

  // Returns the block's instructions that each iteration executes once and that do not divide an iteration's
  // calls: those before the loop's first call, and those behind its last one.
  [[nodiscard]] std::array<CodeBlock, 2> candidates(BlockIndex block) const {
    const auto code = blocks_[block];
    if (!is_on_every_cycle(flow_, forest_, head_, block)) return {};
    std::array<CodeBlock, 2> parts;
    if (block == head_ || !has_call_on_way({head_}, block)) {
      const auto first_call = std::ranges::find_if(code, &Instruction::calls);
      // A breakpoint on the call itself is hit before the call.
      parts[0] = {code.begin(), first_call == code.end() ? first_call : first_call + 1};
    }
    if (!has_call_on_way(flow_.successors[block], head_)) {
      auto behind = code.end();
      while (behind != code.begin() && !(behind - 1)->calls) --behind;
      parts[1] = {behind, code.end()};
    }
    return parts;
  }

  // Returns whether a way within the loop from these blocks to `end` has a call. That of `end` does not count.
  [[nodiscard]] bool has_call_on_way(std::vector<BlockIndex> left, BlockIndex end) const {
    std::vector<bool> seen(blocks_.size());
    while (!left.empty()) {
      const auto block = left.back();
      left.pop_back();
      if (block == end || seen[block] || !forest_.contains(head_, block)) continue;
      if (has_call(blocks_[block])) return true;
      seen[block] = true;
      const auto& next = flow_.successors[block];
      left.insert(left.end(), next.begin(), next.end());
    }
    return false;
  }

  std::span<const CodeBlock> blocks_;
  const ControlFlow& flow_;
  const LoopForest& forest_;
  BlockIndex head_;
  std::unordered_set<std::uint64_t> busy_lines_;
};

}  // namespace

std::uint64_t iteration_address(std::span<const CodeBlock> blocks, const ControlFlow& flow,
                                const LoopForest& forest, BlockIndex head) {
  return Search(blocks, flow, forest, head).find();
}

}  // namespace terrace::observe
