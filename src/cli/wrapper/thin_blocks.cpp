// See thin_blocks.hpp.
#include "cli/wrapper/thin_blocks.hpp"

#include <cctype>
#include <map>
#include <optional>
#include <vector>

#include "observe/code/loop_marks.hpp"
#include "observe/hooks/hook_names.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;

constexpr int k_few = 4;  // instructions

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

std::string_view word_at(std::string_view line, std::size_t begin) {
  std::size_t end = begin;
  while (end < line.size() && is_word(line[end])) ++end;
  return line.substr(begin, end - begin);
}

// "call", "jne"; "" where there is no instruction.
std::string_view mnemonic_of(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos || begin == 0) return {};
  const auto word = word_at(line, begin);
  return word.starts_with('.') ? std::string_view{} : word;
}

// Where a jump may lead to; "" for other lines, and for labels of debug information.
std::string_view label_of(std::string_view line) {
  const auto word = word_at(line, 0);
  if (word.empty() || word.size() == line.size() || line[word.size()] != ':') return {};
  const bool numbered =
      word.starts_with(".L") && word.size() > 2 && std::isdigit(static_cast<unsigned char>(word[2]));
  return !word.starts_with('.') || numbered ? word : std::string_view{};
}

bool ends_function(std::string_view line) { return line.find("\t.size\t") != std::string_view::npos; }

Hook hook_called(std::string_view line) {
  for (const std::string_view prefix : {"__tsan_", "__sanitizer_cov_"})
    if (const auto at = line.find(prefix); at != std::string_view::npos)
      return observe::hook_of(word_at(line, at));
  return Hook::none;
}

class Thinner {
 public:
  void line(std::string_view line) {
    lines_.push_back(line);
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
      if (mnemonic.starts_with('j') || mnemonic.starts_with("ret") || mnemonic == "notrack") jump(line, mnemonic);
    }
  }
  [[nodiscard]] std::string text() {
    end_function();
    std::string text;
    for (const auto line : lines_)
      if (line.data() != nullptr) text.append(line).push_back('\n');
    return text;
  }

 private:
  struct Block {
    std::optional<std::size_t> hook;  // its line
    bool accesses = false;
    bool calls = false;
    bool goes_on = true;
    bool goes_anywhere = false;
    int instructions = 0;     // hooks apart
    std::string_view target;  // of the jump that ends it
  };

  void begin_block() { blocks_.emplace_back(); }
  void jump(std::string_view line, std::string_view mnemonic) {
    auto& block = blocks_.back();
    const bool always = mnemonic == "jmp" || mnemonic == "notrack";  // the latter is a prefix of computed jumps
    block.goes_on = !always && !mnemonic.starts_with("ret");
    const auto end = static_cast<std::size_t>(mnemonic.data() - line.data()) + mnemonic.size();
    const auto target = line.find_first_not_of(" \t", end);
    if (target != std::string_view::npos && mnemonic != "notrack") block.target = word_at(line, target);
    block.goes_anywhere = always && block.target.empty();
    begin_block();
  }
  [[nodiscard]] std::optional<std::size_t> target_of(const Block& block) const {
    const auto found = labels_.find(block.target);
    return block.target.empty() || found == labels_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] observe::LoopMarks loop_marks() const {
    std::vector<observe::FlowBlock> flow;
    for (const auto& block : blocks_) {
      auto& one = flow.emplace_back();
      if (const auto target = target_of(block)) one.targets.push_back(static_cast<observe::BlockIndex>(*target));
      one.goes_on = block.goes_on;
      one.goes_anywhere = block.goes_anywhere;
      one.has_hook = block.hook.has_value();
      one.calls = block.calls;
    }
    return observe::mark_loops(flow);
  }
  // What its hook would say is said by its accesses, or costs more than it tells.
  [[nodiscard]] bool is_dispensable(std::size_t index) const {
    const auto& block = blocks_[index];
    const auto target = target_of(block);
    const bool loops = target && *target <= index;
    return block.accesses || (block.instructions < k_few && !loops);
  }
  void end_function() {
    const auto marks = loop_marks();
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (blocks_[i].hook && is_dispensable(i) && !marks.marks(static_cast<observe::BlockIndex>(i)))
        lines_[*blocks_[i].hook] = {};
    blocks_.assign(1, {});
    labels_.clear();
  }

  std::vector<std::string_view> lines_;
  std::vector<Block> blocks_{1};                    // of the function that is read
  std::map<std::string_view, std::size_t> labels_;  // the block that each begins
};

}  // namespace

std::string thin_blocks(std::string_view assembly) {
  Thinner thinner;
  while (!assembly.empty()) {
    const auto end = assembly.find('\n');
    thinner.line(assembly.substr(0, end));
    assembly = end == std::string_view::npos ? std::string_view{} : assembly.substr(end + 1);
  }
  return thinner.text();
}

}  // namespace terrace::cli
