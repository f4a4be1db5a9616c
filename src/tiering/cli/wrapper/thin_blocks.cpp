// SPDX-License-Identifier: Apache-2.0
// Removes dispensable hooks of basic blocks from assembly: builds the control flow of each function, and selects
// the hooks that stay. Called by the assembler stand-in. See thin_blocks.hpp.
#include "cli/wrapper/thin_blocks.hpp"

#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"
#include "observe/code/loop_marks.hpp"
#include "observe/code/no_return.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;

constexpr int k_min_instructions = 4;  // blocks with fewer lose their hook

// Returns a label that is a jump target; "" for other lines, and for labels of debug information.
std::string_view label_of(std::string_view line) {
  const auto word = any_label_of(line);
  const bool numbered =
      word.starts_with(".L") && word.size() > 2 && std::isdigit(static_cast<unsigned char>(word[2]));
  return !word.starts_with('.') || numbered ? word : std::string_view{};
}

bool ends_function(std::string_view line) { return line.find("\t.size\t") != std::string_view::npos; }

// Reads assembly line by line, and writes it without dispensable hooks.
class HookFilter {
 public:
  void line(std::string_view line) {
    lines_.push_back({line});
    if (const auto label = label_of(line); !label.empty()) {
      begin_block();
      labels_.emplace(label, blocks_.size() - 1);
      return;
    }
    if (ends_function(line)) {
      end_function();
      return;
    }
    const auto mnemonic = mnemonic_of(line);
    if (mnemonic.empty()) return;
    const bool calls = mnemonic == "call";
    const auto hook = calls ? hook_called(line) : Hook::none;
    if (hook == Hook::block) {
      begin_block();
      blocks_.back().hook = lines_.size() - 1;
    } else if (hook == Hook::access) {
      blocks_.back().accesses = true;
    } else if (hook == Hook::none) {
      ++blocks_.back().instructions;
      if (calls) blocks_.back().calls = true;
      if (calls && observe::never_returns(function_called(line))) {
        blocks_.back().goes_on = false;
        begin_block();
      }
      if (mnemonic.starts_with('j') || mnemonic.starts_with("ret") || mnemonic == "notrack")
        end_block_at_jump(line, mnemonic);
    }
  }
  [[nodiscard]] std::string text() {
    end_function();
    std::string text;
    for (const auto& line : lines_)
      if (line.text.data() != nullptr) text.append(line.text).append(line.loop_comment).push_back('\n');
    return text;
  }

 private:
  struct Block {
    std::optional<std::size_t> hook;  // its line
    bool accesses = false;
    bool calls = false;
    bool goes_on = true;
    bool goes_anywhere = false;
    int instructions = 0;     // without hooks
    std::string_view target;  // of the jump that ends it
  };

  struct Line {
    std::string_view text;            // null: removed
    std::string_view loop_comment{};  // k_loop_mark behind a hook that may report a loop
  };

  void begin_block() { blocks_.emplace_back(); }
  // Ends the block at a jump or return, and notes where it continues.
  void end_block_at_jump(std::string_view line, std::string_view mnemonic) {
    auto& block = blocks_.back();
    const bool always = mnemonic == "jmp" || mnemonic == "notrack";  // the latter is a prefix of computed jumps
    block.goes_on = !always && !mnemonic.starts_with("ret");
    const auto end = static_cast<std::size_t>(mnemonic.data() - line.data()) + mnemonic.size();
    const auto target = line.find_first_not_of(" \t", end);
    if (target != std::string_view::npos && mnemonic != "notrack") block.target = word_at(line, target);
    // A jump through the global offset table is a tail call.
    const bool calls =
        line.find("rip)", end) != std::string_view::npos || line.find("rip]", end) != std::string_view::npos;
    block.goes_anywhere = always && block.target.empty() && !calls;
    begin_block();
  }
  [[nodiscard]] std::optional<std::size_t> target_of(const Block& block) const {
    const auto found = labels_.find(block.target);
    return block.target.empty() || found == labels_.end() ? std::nullopt : std::optional(found->second);
  }
  // Determines which blocks' hooks report iterations or entries of loops (observe/code/loop_marks.hpp).
  [[nodiscard]] observe::LoopMarks find_loop_marks() const {
    std::vector<observe::FlowBlock> flow;
    for (const auto& block : blocks_) {
      auto& one = flow.emplace_back();
      if (const auto target = target_of(block)) one.targets.push_back(static_cast<observe::BlockIndex>(*target));
      one.falls_through = block.goes_on;
      one.has_indirect_jump = block.goes_anywhere;
      one.has_hook = block.hook.has_value();
      one.calls = block.calls;
    }
    return observe::mark_loops(flow);
  }
  // Returns whether the block's accesses replace its hook, or the hook costs more than the block.
  [[nodiscard]] bool is_dispensable(std::size_t index) const {
    const auto& block = blocks_[index];
    const auto target = target_of(block);
    const bool loops = target && *target <= index;
    return block.accesses || (block.instructions < k_min_instructions && !loops);
  }
  // Removes or annotates the hooks of the function that ends here.
  void end_function() {
    const auto marks = find_loop_marks();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (!blocks_[i].hook) continue;
      auto& line = lines_[*blocks_[i].hook];
      const bool is_mark = marks.marks(static_cast<observe::BlockIndex>(i));
      // The launcher splits blocks at other places, and may take another hook for the one of the loop.
      if (is_mark || (!is_dispensable(i) && !marks.is_in_small_loop[i]))
        line.loop_comment = k_loop_mark;
      else if (is_dispensable(i))
        line = {};
    }
    blocks_.assign(1, {});
    labels_.clear();
  }

  std::vector<Line> lines_;
  std::vector<Block> blocks_{1};                    // of the current function
  std::map<std::string_view, std::size_t> labels_;  // the block that each begins
};

}  // namespace

std::string thin_blocks(std::string_view assembly) {
  HookFilter filter;
  for_each_line(assembly, [&](std::string_view line) { filter.line(line); });
  return filter.text();
}

}  // namespace terrace::cli
