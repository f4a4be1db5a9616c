// SPDX-License-Identifier: Apache-2.0
// Counts the instructions of each hook and finds the loops, for the symbol files that the launcher writes. See
// symbols_facts.hpp. It disassembles a program's functions and assigns the instructions of each basic block that
// the uninstrumented program would execute to the hooks in it: to the block's own hook, if it has one, else evenly
// to the hooks of its accesses.
//
// Instrumented loops are scalar: the fit of the time of an instruction accounts for the gain of vectorisation.
#include <gelf.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "observe/code/loop_marks.hpp"
#include "observe/symbols/files/code_blocks.hpp"
#include "observe/symbols/files/disassembly.hpp"
#include "observe/symbols/files/symbols_facts.hpp"

namespace terrace::observe {

namespace {

bool has_hook(CodeBlock block) {
  return std::ranges::any_of(
      block, [](const Instruction& one) { return one.hook == Hook::block || one.hook == Hook::access; });
}

std::uint32_t work_of(CodeBlock block) {
  return std::accumulate(block.begin(), block.end(), 0U,
                         [](std::uint32_t sum, const Instruction& one) { return sum + one.work; });
}

// Assigns a block's work to its hooks.
void share_out(CodeBlock block, std::uint32_t work, std::vector<SymbolHook>& hooks) {
  std::vector<std::uint64_t> accesses;
  std::uint64_t own = 0;
  for (const auto& instruction : block) {
    if (instruction.hook == Hook::block && own == 0)
      own = instruction.next;
    else if (instruction.hook == Hook::block)
      hooks.push_back({.low = instruction.next});  // two blocks that the compiler merged
    if (instruction.hook == Hook::access) accesses.push_back(instruction.next);
  }
  if (own != 0) hooks.push_back({.low = own, .instructions = std::exchange(work, 0)});
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    const auto share = work / static_cast<std::uint32_t>(accesses.size() - i);
    hooks.push_back({.low = accesses[i], .instructions = share});
    work -= share;
  }
}

// Assigns the work of blocks without hooks, which are small (cli/wrapper/thin_blocks.hpp), to the preceding block:
// half of it where that may jump past them.
void share_out(const std::vector<CodeBlock>& blocks, std::vector<SymbolHook>& hooks) {
  CodeBlock last;
  std::uint32_t work = 0;  // of that block, in halves
  bool is_passed = false;
  for (const auto block : blocks) {
    if (has_hook(block)) {
      share_out(last, work / 2, hooks);
      work = 0;
      last = block;
    }
    work += (is_passed && !has_hook(block) ? 1 : 2) * work_of(block);
    is_passed = block.back().jumps;
  }
  share_out(last, work / 2, hooks);
}

// Numbers the loops in pre-order: a loop's descendants follow it directly.
class LoopTables {
 public:
  LoopTables(const std::vector<CodeBlock>& blocks, SymbolFacts& facts)
      : blocks_(blocks),
        marks_(mark_loops(flow_blocks(blocks))),
        facts_(facts),
        numbers_(blocks.size()),
        children_(blocks.size()),
        back_(back_edges(blocks, marks_.forest)) {
    std::vector<BlockIndex> outermost;
    for (BlockIndex i = 0; i < blocks.size(); ++i) {
      if (!marks_.forest.is_head[i]) continue;
      const auto around = marks_.forest.around[i];
      (around == k_no_block ? outermost : children_[around]).push_back(i);
    }
    for (const auto head : outermost) add(head);
  }
  // Adds a row for each interval of code with the same innermost loop.
  void add_spans() {
    auto last = ~std::uint32_t{0};
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      const auto loop = number(marks_.forest.loop_of(i));
      if (std::exchange(last, loop) != loop) facts_.spans.push_back({.low = blocks_[i].front().at, .loop = loop});
    }
  }
  // Marks the hooks that report iterations or entries of loops.
  void mark(std::span<SymbolHook> hooks) const {
    for (BlockIndex i = 0; i < blocks_.size(); ++i) {
      if (!marks_.marks(i)) continue;
      const auto hook = std::ranges::find(hooks, own_hook(blocks_[i]), &SymbolHook::low);
      if (hook == hooks.end()) continue;
      hook->iterates = number(marks_.iterates[i]);
      hook->enters = number(marks_.enters[i]);
      hook->at_end = marks_.at_end[i] ? 1 : 0;
    }
  }

 private:
  [[nodiscard]] std::uint32_t number(BlockIndex head) const { return head == k_no_block ? 0 : numbers_[head]; }
  // Not recursive: generated code nests thousands of loops.
  void add(BlockIndex outermost) {
    std::vector<BlockIndex> left{outermost};
    while (!left.empty()) {
      const auto head = left.back();
      if (numbers_[head] != 0) {
        facts_.loops[numbers_[head] - 1].last = static_cast<std::uint32_t>(facts_.loops.size());
        left.pop_back();
        continue;
      }
      facts_.loops.push_back(
          {.low = blocks_[head].front().at, .back = back_[head], .around = number(marks_.forest.around[head])});
      numbers_[head] = static_cast<std::uint32_t>(facts_.loops.size());
      left.insert(left.end(), children_[head].rbegin(), children_[head].rend());
    }
  }

  const std::vector<CodeBlock>& blocks_;
  LoopMarks marks_;
  SymbolFacts& facts_;
  std::vector<std::uint32_t> numbers_;             // of loops, by head; 0: no loop
  std::vector<std::vector<BlockIndex>> children_;  // by head: the heads of its child loops
  std::vector<std::uint64_t> back_;                // by head: the jump of the back edge
};

// Adds a function's hooks, loops and intervals of code to the tables.
void read_function(const std::vector<Instruction>& code, SymbolFacts& facts) {
  const auto blocks = cut_blocks(code);
  const auto first = facts.hooks.size();
  share_out(blocks, facts.hooks);
  LoopTables loops(blocks, facts);
  loops.add_spans();
  loops.mark(std::span(facts.hooks).subspan(first));
}

bool is_unhooked(const SymbolFunction& function, std::uint64_t address) {
  return (function.flags & k_symbol_unhooked) != 0 && address < function.low + function.size;
}

}  // namespace

void read_code(Elf* elf, SymbolFacts& facts) {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64) return;
  const Disassembly disassembly(elf);
  for (const auto& part : disassembly.code()) {
    // A function's code extends to the begin of the next one.
    const auto end = part.address + part.bytes.size();
    for (auto here = part.address; here < end;) {
      const auto after = std::ranges::upper_bound(facts.functions, here, {}, &SymbolFunction::low);
      const auto next = after == facts.functions.end() ? end : std::min(after->low, end);
      if (after == facts.functions.begin() || !is_unhooked(*std::prev(after), here))
        read_function(disassembly.read(here, part.bytes.subspan(here - part.address, next - here)), facts);
      here = next;
    }
  }
  std::ranges::sort(facts.hooks, {}, &SymbolHook::low);
  std::ranges::sort(facts.spans, {}, &SymbolSpan::low);
}

}  // namespace terrace::observe
