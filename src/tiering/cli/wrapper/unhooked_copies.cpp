// See unhooked_copies.hpp.
#include "cli/wrapper/unhooked_copies.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"
#include "observe/code/unhooked.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;
using Lines = std::span<const std::string_view>;

// What compilers write within a function and may stand there twice. Not .file: numbers of files are given once.
constexpr std::array<std::string_view, 25> k_twice{
    ".loc",   ".p2align", ".align", ".balign",  ".section", ".text", ".long",      ".quad",  ".byte",
    ".value", ".short",   ".word",  ".uleb128", ".sleb128", ".type", ".size",      ".globl", ".hidden",
    ".weak",  ".string",  ".ascii", ".asciz",   ".zero",    ".nops", ".subsection"};
constexpr std::string_view k_file = ".file";

bool may_stand_twice(std::string_view directive) {
  return directive.starts_with(".cfi_") || directive == k_file || std::ranges::count(k_twice, directive) != 0;
}

// What a line is for the two versions.
enum class Kind : unsigned char {
  same,
  left_out,  // of the copy
  call,
  exit  // the hook of it: what follows has no accesses
};

// In code of the program's own assembly nothing is taken for a call.
Kind kind_of(std::string_view line, bool own_assembly) {
  if (own_assembly || mnemonic_of(line) != "call") return Kind::same;
  // The linker knows these by the instructions around them.
  if (line.find("__tls_get_addr") != std::string_view::npos || line.find("@TLSCALL") != std::string_view::npos)
    return Kind::same;
  const auto hook = hook_called(line);
  if (hook == Hook::block) return line.ends_with(k_loop_mark) ? Kind::call : Kind::left_out;
  if (hook == Hook::access)
    return line.find("__tsan_atomic") == std::string_view::npos ? Kind::left_out : Kind::call;
  return line.find("__tsan_func_exit") == std::string_view::npos ? Kind::call
                                                                 : Kind::exit;  // the one of tail calls, too
}

class Function {
 public:
  Function(std::string_view name, Lines lines, std::size_t number) : name_(name), lines_(lines), number_(number) {
    bool own_assembly = false;
    std::string_view section;
    for (const auto line : lines_) {
      if (line.starts_with("#APP")) own_assembly = true;
      if (line.starts_with("#NO_APP")) own_assembly = false;
      if (const auto label = any_label_of(line); !label.empty()) learn(label);
      if (!cold_.empty() && cold_section_.empty()) cold_section_ = section;
      const auto word = first_word_of(line);
      if (word.starts_with('.') && !may_stand_twice(word)) can_be_copied_ = false;
      if (word == ".section" && cold_.empty()) section = line;
      kinds_.push_back(kind_of(line, own_assembly));
    }
  }
  [[nodiscard]] bool has_copy() const {
    return can_be_copied_ && cold_.empty() == cold_section_.empty() &&
           std::ranges::count(kinds_, Kind::left_out) != 0 && std::ranges::count(kinds_, Kind::call) != 0;
  }
  void write_hooked(std::string& out) const {
    std::size_t calls = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const bool is_call = kinds_[i] == Kind::call;
      if (is_call || kinds_[i] == Kind::exit) out += local("call", calls) + ":\n";
      out.append(lines_[i]) += '\n';
      if (is_call) {
        out.append("\tmovq\t").append(observe::k_unhooked).append("@GOTPCREL(%rip), %r11\n");
        out += "\tds cmpb\t$0, (%r11)\n\tjne\t" + local("behind", calls) + '\n';
      }
      if (is_call || kinds_[i] == Kind::exit) ++calls;
    }
  }
  void write_copy(std::string& out) const {
    const auto copy = std::string(name_).append(observe::k_unhooked_ending);
    out.append("\t.p2align 4\n\t.type\t" + copy + ", @function\n");
    std::size_t calls = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (kinds_[i] == Kind::left_out) continue;
      if (kinds_[i] == Kind::same) {
        write_again(lines_[i], out);
        continue;
      }
      out += "\tjmp\t" + local("call", calls) + '\n';
      if (kinds_[i] == Kind::call) out += local("behind", calls) + ":\n";
      ++calls;
    }
    out.append("\t.size\t" + copy + ", .-" + copy + "\n");
    if (cold_.empty()) return;
    const auto cold = std::string(cold_).append(observe::k_unhooked_ending);
    out.append(cold_section_).append("\n\t.size\t" + cold + ", .-" + cold + "\n\t.previous\n");
  }

 private:
  [[nodiscard]] std::string local(std::string_view what, std::size_t call) const {
    return std::string(".Lterrace_").append(what) + '_' + std::to_string(number_) + '_' + std::to_string(call);
  }
  void learn(std::string_view label) {
    if (label == name_ || std::isdigit(static_cast<unsigned char>(label.front())) != 0) return;
    const bool is_part = label.starts_with(name_) && label.substr(name_.size()).starts_with(".cold");
    if (is_part) cold_ = label;
    if (label.starts_with(".L") || is_part)
      labels_.insert(label);
    else
      can_be_copied_ = false;
  }
  // With labels of its own. `.loc` names views, each of which is a label.
  void write_again(std::string_view line, std::string& out) const {
    const auto first = first_word_of(line);
    if (first == k_file) return;
    if (any_label_of(line) == name_) {
      out.append(name_).append(observe::k_unhooked_ending).append(":\n");
      return;
    }
    const bool is_place = first == ".loc";
    for (std::size_t i = 0; i < line.size();) {
      const auto word = word_at(line, i);
      if (word.empty()) {
        out += line[i++];
        continue;
      }
      out.append(word);
      if (labels_.contains(word) || (is_place && word.starts_with(".L"))) out.append(observe::k_unhooked_ending);
      i += word.size();
    }
    out += '\n';
  }

  std::string_view name_;
  Lines lines_;
  std::size_t number_;
  bool can_be_copied_ = true;
  std::string_view cold_, cold_section_;  // what the compiler moved away, as it is rarely executed
  std::set<std::string_view> labels_;     // that are defined within
  std::vector<Kind> kinds_;               // by line
};

class Copier {
 public:
  void line(std::string_view line) {
    lines_.push_back(line);
    if (const auto name = function_ended_by(line); !name.empty()) end_function(name);
  }
  [[nodiscard]] std::string text() {
    write(lines_);
    return std::move(out_);
  }

 private:
  void write(Lines lines) {
    for (const auto line : lines) out_.append(line) += '\n';
  }
  void end_function(std::string_view name) {
    const Lines all = lines_;
    const auto begin = std::ranges::find(all, name, any_label_of) - all.begin();
    const auto from = static_cast<std::size_t>(begin);
    if (from < all.size()) {
      const Function function(name, all.subspan(from, all.size() - 1 - from), count_++);
      if (function.has_copy()) {
        write(all.first(from));
        function.write_hooked(out_);
        write(all.last(1));
        function.write_copy(out_);
        lines_.clear();
        return;
      }
    }
    write(all);
    lines_.clear();
  }

  std::vector<std::string_view> lines_;  // since the last function's end
  std::size_t count_ = 0;
  std::string out_;
};

}  // namespace

std::string add_unhooked_copies(std::string_view assembly) {
  if (assembly.find(".intel_syntax") != std::string_view::npos) return std::string(assembly);
  Copier copier;
  for_each_line(assembly, [&](std::string_view line) { copier.line(line); });
  return copier.text();
}

}  // namespace terrace::cli
