// SPDX-License-Identifier: Apache-2.0
// Adds to instrumented assembly, for the assembler stand-in, a copy of each function without hooks: classifies its
// lines and writes both versions. See unhooked_copies.hpp.
#include "cli/wrapper/unhooked_copies.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"
#include "observe/hooks/hook_names.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;
using AssemblyLines = std::span<const std::string_view>;

// Directives within a function that may be duplicated. Not .file, whose numbers must be unique.
constexpr std::array<std::string_view, 25> k_duplicable{
    ".loc",   ".p2align", ".align", ".balign",  ".section", ".text", ".long",      ".quad",  ".byte",
    ".value", ".short",   ".word",  ".uleb128", ".sleb128", ".type", ".size",      ".globl", ".hidden",
    ".weak",  ".string",  ".ascii", ".asciz",   ".zero",    ".nops", ".subsection"};
constexpr std::string_view k_file = ".file";

bool can_be_duplicated(std::string_view directive) {
  return directive.starts_with(".cfi_") || directive == k_file || std::ranges::count(k_duplicable, directive) != 0;
}

// The treatment of a line in the two versions.
enum class LineKind : unsigned char {
  same,
  omitted,  // from the copy
  call,
  exit  // the exit hook: no accesses follow
};

// Classifies a line. Calls in inline assembly are treated as any other instruction.
LineKind classify(std::string_view line, bool own_assembly) {
  if (own_assembly || mnemonic_of(line) != "call") return LineKind::same;
  // The linker recognises and rewrites these sequences as a whole (TLS relaxation).
  if (line.find("__tls_get_addr") != std::string_view::npos || line.find("@TLSCALL") != std::string_view::npos)
    return LineKind::same;
  const auto hook = hook_called(line);
  if (hook == Hook::block) return line.ends_with(k_loop_mark) ? LineKind::call : LineKind::omitted;
  if (hook == Hook::access)
    return line.find("__tsan_atomic") == std::string_view::npos ? LineKind::omitted : LineKind::call;
  return line.find("__tsan_func_exit") == std::string_view::npos ? LineKind::call
                                                                 : LineKind::exit;  // the one of tail calls, too
}

// A function of the assembly file, with or without a copy.
class HookedFunction {
 public:
  HookedFunction(std::string_view name, AssemblyLines lines, std::size_t number)
      : name_(name), lines_(lines), number_(number) {
    bool own_assembly = false;
    std::string_view section;
    for (const auto line : lines_) {
      if (line.starts_with("#APP")) own_assembly = true;
      if (line.starts_with("#NO_APP")) own_assembly = false;
      if (const auto label = any_label_of(line); !label.empty()) learn(label);
      if (!cold_.empty() && cold_section_.empty()) cold_section_ = section;
      const auto word = first_word_of(line);
      if (word.starts_with('.') && !can_be_duplicated(word)) can_be_copied_ = false;
      if (word == ".section" && cold_.empty()) section = line;
      kinds_.push_back(classify(line, own_assembly));
    }
  }
  [[nodiscard]] bool has_copy() const {
    return can_be_copied_ && cold_.empty() == cold_section_.empty() &&
           std::ranges::count(kinds_, LineKind::omitted) != 0 && std::ranges::count(kinds_, LineKind::call) != 0;
  }
  // Writes the version with hooks, which continues in the copy behind each call while no collector is active.
  void write_hooked(std::string& out) const {
    std::size_t calls = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const bool is_call = kinds_[i] == LineKind::call;
      if (is_call || kinds_[i] == LineKind::exit) out += local("call", calls) + ":\n";
      out.append(lines_[i]) += '\n';
      if (is_call) {
        out.append("\tmovq\t").append(observe::k_unhooked).append("@GOTPCREL(%rip), %r11\n");
        out += "\tds cmpb\t$0, (%r11)\n\tjne\t" + local("behind", calls) + '\n';
      }
      if (is_call || kinds_[i] == LineKind::exit) ++calls;
    }
  }
  // Writes the version without hooks, which jumps to the calls of the other version.
  void write_copy(std::string& out) const {
    const auto copy = std::string(name_).append(observe::k_unhooked_ending);
    out.append("\t.p2align 4\n\t.type\t" + copy + ", @function\n");
    std::size_t calls = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (kinds_[i] == LineKind::omitted) continue;
      if (kinds_[i] == LineKind::same) {
        write_again(lines_[i], out);
        continue;
      }
      out += "\tjmp\t" + local("call", calls) + '\n';
      if (kinds_[i] == LineKind::call) out += local("behind", calls) + ":\n";
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
  // Notes a label: of this function, of its cold part, or one that prevents a copy.
  void learn(std::string_view label) {
    if (label == name_ || std::isdigit(static_cast<unsigned char>(label.front())) != 0) return;
    const bool is_part = label.starts_with(name_) && label.substr(name_.size()).starts_with(".cold");
    if (is_part) cold_ = label;
    if (label.starts_with(".L") || is_part)
      labels_.insert(label);
    else
      can_be_copied_ = false;
  }
  // Writes a line of the copy, with its labels renamed. `.loc` names views, which are labels as well.
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
  AssemblyLines lines_;
  std::size_t number_;
  bool can_be_copied_ = true;
  std::string_view cold_, cold_section_;  // the part that the compiler moved away as rarely executed
  std::set<std::string_view> labels_;     // defined in the function
  std::vector<LineKind> kinds_;           // by line
};

// Splits assembly into functions, and writes each with its copy.
class CopyWriter {
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
  void write(AssemblyLines lines) {
    for (const auto line : lines) out_.append(line) += '\n';
  }
  void end_function(std::string_view name) {
    const AssemblyLines all = lines_;
    const auto begin = std::ranges::find(all, name, any_label_of) - all.begin();
    const auto from = static_cast<std::size_t>(begin);
    if (from < all.size()) {
      const HookedFunction function(name, all.subspan(from, all.size() - 1 - from), count_++);
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
  CopyWriter writer;
  for_each_line(assembly, [&](std::string_view line) { writer.line(line); });
  return writer.text();
}

}  // namespace terrace::cli
