// SPDX-License-Identifier: Apache-2.0
// Cuts instructions into basic blocks at jumps and their targets. See code_blocks.hpp.
#include "observe/symbols/files/code_blocks.hpp"

#include <algorithm>
#include <map>

namespace terrace::observe {

std::vector<CodeBlock> cut_blocks(const std::vector<Instruction>& code) {
  std::vector<std::uint64_t> targets;
  for (const auto& instruction : code)
    if (instruction.target != 0) targets.push_back(instruction.target);
  std::ranges::sort(targets);
  std::vector<CodeBlock> blocks;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const bool ends = code[i].jumps || !code[i].falls_through || i + 1 == code.size() ||
                      std::ranges::binary_search(targets, code[i + 1].at);
    if (!ends) continue;
    blocks.push_back(CodeBlock(code).subspan(begin, i + 1 - begin));
    begin = i + 1;
  }
  return blocks;
}

std::uint64_t own_hook(CodeBlock block) {
  const auto found = std::ranges::find(block, Hook::block, &Instruction::hook);
  return found == block.end() ? 0 : found->next;
}

std::vector<FlowBlock> flow_blocks(const std::vector<CodeBlock>& blocks) {
  std::map<std::uint64_t, BlockIndex> begins;
  for (const auto block : blocks) begins.emplace(block.front().at, static_cast<BlockIndex>(begins.size()));
  std::vector<FlowBlock> flow;
  for (const auto block : blocks) {
    auto& one = flow.emplace_back();
    const auto& end = block.back();
    if (const auto target = begins.find(end.target); end.target != 0 && target != begins.end())
      one.targets.push_back(target->second);
    one.falls_through = end.falls_through;
    one.has_indirect_jump = end.has_indirect_jump;
    one.has_hook = own_hook(block) != 0;
    one.calls = std::ranges::any_of(block, &Instruction::calls);
  }
  return flow;
}

std::vector<std::uint64_t> back_edges(const std::vector<CodeBlock>& blocks, const LoopForest& forest) {
  std::vector<std::uint64_t> back(blocks.size());
  std::map<std::uint64_t, BlockIndex> heads;
  for (BlockIndex i = 0; i < blocks.size(); ++i)
    if (forest.is_head[i]) heads.emplace(blocks[i].front().at, i);
  for (BlockIndex i = 0; i < blocks.size(); ++i) {
    const auto& end = blocks[i].back();
    const auto behind = end.falls_through && i + 1 < blocks.size() ? blocks[i + 1].front().at : 0;
    for (const auto next : {end.target, behind}) {
      const auto head = heads.find(next);
      if (head != heads.end() && forest.contains(head->second, i)) back[head->second] = end.at;
    }
  }
  return back;
}

}  // namespace terrace::observe
