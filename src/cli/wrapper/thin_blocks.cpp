// See thin_blocks.hpp.
#include "cli/wrapper/thin_blocks.hpp"

#include <cctype>
#include <optional>
#include <set>
#include <vector>

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
      end_block();
      labels_.insert(label);
      return;
    }
    const auto mnemonic = mnemonic_of(line);
    if (mnemonic.empty()) return;
    const auto hook = mnemonic == "call" ? hook_called(line) : Hook::none;
    if (hook == Hook::block) {
      end_block();
      hook_ = lines_.size() - 1;
    } else if (hook == Hook::access) {
      leave_out();
    } else if (hook == Hook::none) {
      ++instructions_;
      if (mnemonic.starts_with('j') || mnemonic.starts_with("ret")) jump(line, mnemonic);
    }
  }
  [[nodiscard]] std::string text() {
    end_block();
    std::string text;
    for (const auto line : lines_)
      if (line.data() != nullptr) text.append(line).push_back('\n');
    return text;
  }

 private:
  void jump(std::string_view line, std::string_view mnemonic) {
    const auto end = static_cast<std::size_t>(mnemonic.data() - line.data()) + mnemonic.size();
    const auto target = line.find_first_not_of(" \t", end);
    const bool loops = target != std::string_view::npos && labels_.contains(word_at(line, target));
    if (loops) hook_.reset();  // stays
    end_block();
  }
  void end_block() {
    if (instructions_ < k_few) leave_out();
    hook_.reset();
    instructions_ = 0;
  }
  void leave_out() {
    if (hook_) lines_[*hook_] = {};
    hook_.reset();
  }

  std::vector<std::string_view> lines_;
  std::optional<std::size_t> hook_;      // of the block, as long as it may be left out
  int instructions_ = 0;                 // of the block, hooks apart
  std::set<std::string_view> labels_{};  // so far
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
