// See tail_calls.hpp.
#include "cli/wrapper/tail_calls.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "cli/wrapper/assembly_text.hpp"

namespace terrace::cli {

namespace {

using observe::Hook;

constexpr std::string_view k_entry_hook = "__tsan_func_entry";
constexpr std::string_view k_exit_hook = "__tsan_func_exit";
constexpr std::string_view k_cost = "\t[c=";  // in the comments of -dp
constexpr int k_word = 8;                     // bytes of a saved register
constexpr int k_max_walk = 64;                // instructions behind a call; an epilogue has less than twenty

// An instruction, or what takes its place in a line.
struct Instruction {
  std::string_view mnemonic;
  std::string_view text;                   // from the mnemonic on, without comments
  std::vector<std::string_view> operands;  // in AT&T's order: sources first
  std::string_view pattern;                // the compiler's name of it, or ""

  [[nodiscard]] std::string_view last() const { return operands.empty() ? std::string_view{} : operands.back(); }
};

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Where the comment of -dp begins: "\t# 55\t[c=4 l=3]  *movdi_internal/3".
std::size_t find_comment(std::string_view line) {
  const auto cost = line.rfind(k_cost);
  if (cost == std::string_view::npos) return line.size();
  const auto mark = line.rfind("# ", cost);
  if (mark == std::string_view::npos || mark == 0) return line.size();
  const auto end = line.find_last_not_of(" \t", mark - 1);
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string_view pattern_of(std::string_view line) {
  const auto cost = line.rfind(k_cost);
  if (cost == std::string_view::npos) return {};
  const auto begin = line.find("]  ", cost);
  return begin == std::string_view::npos ? std::string_view{} : trim(line.substr(begin + 3));
}

Instruction parse(std::string_view line) {
  Instruction one{.mnemonic = mnemonic_of(line), .text = {}, .operands = {}, .pattern = pattern_of(line)};
  const auto code = line.substr(0, find_comment(line));
  if (one.mnemonic.empty()) return one;
  one.text = trim(code);
  auto rest = trim(one.text.substr(one.mnemonic.size()));
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= rest.size(); ++i) {
    if (i == rest.size() || (rest[i] == ',' && depth == 0)) {
      if (const auto operand = trim(rest.substr(begin, i - begin)); !operand.empty())
        one.operands.push_back(operand);
      begin = i + 1;
    } else if (rest[i] == '(') {
      ++depth;
    } else if (rest[i] == ')') {
      --depth;
    }
  }
  return one;
}

std::optional<int> immediate(std::string_view operand) {
  if (!operand.starts_with('$')) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(operand.data() + 1, operand.data() + operand.size(), value);
  return error == std::errc{} && end == operand.data() + operand.size() ? std::optional(value) : std::nullopt;
}

bool is_slot(std::string_view operand) { return operand.ends_with("(%rsp)") || operand.ends_with("(%rbp)"); }

// The register that a name means, whatever part of it: "%eax" and "%al" are "a". "" for what is not known.
std::string_view whole_register(std::string_view operand) {
  struct Names {
    std::string_view whole;
    std::array<std::string_view, 4> parts;
  };
  static constexpr std::array<Names, 8> k_old{{{"a", {"%rax", "%eax", "%ax", "%al"}},
                                               {"d", {"%rdx", "%edx", "%dx", "%dl"}},
                                               {"c", {"%rcx", "%ecx", "%cx", "%cl"}},
                                               {"b", {"%rbx", "%ebx", "%bx", "%bl"}},
                                               {"si", {"%rsi", "%esi", "%si", "%sil"}},
                                               {"di", {"%rdi", "%edi", "%di", "%dil"}},
                                               {"bp", {"%rbp", "%ebp", "%bp", "%bpl"}},
                                               {"sp", {"%rsp", "%esp", "%sp", "%spl"}}}};
  for (const auto& names : k_old)
    if (std::ranges::count(names.parts, operand) != 0) return names.whole;
  if (operand.starts_with("%xmm")) return operand.substr(1);
  if (!operand.starts_with("%r")) return {};
  auto digits = operand.substr(2);  // %r12, %r12d
  if (digits.ends_with('d') || digits.ends_with('w') || digits.ends_with('b')) digits.remove_suffix(1);
  const bool numbered = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  return numbered ? digits : std::string_view{};
}

// Registers that a function must give back as it found them, beside the stack pointer.
bool is_preserved(std::string_view whole) {
  static constexpr std::array<std::string_view, 6> k_preserved{"b", "bp", "12", "13", "14", "15"};
  return std::ranges::count(k_preserved, whole) != 0;
}

bool returns_values(std::string_view whole) {
  return whole == "a" || whole == "d" || whole == "xmm0" || whole == "xmm1";
}

// Bytes that a pattern copies unchanged; 0 where it is no plain copy: "*movsi_internal/0" copies four.
int copied_bytes(std::string_view pattern) {
  pattern = pattern.substr(0, pattern.find('/'));
  constexpr std::string_view k_begin = "*mov";
  constexpr std::string_view k_end = "_internal";
  if (!pattern.starts_with(k_begin) || !pattern.ends_with(k_end)) return 0;
  const auto mode = pattern.substr(k_begin.size(), pattern.size() - k_begin.size() - k_end.size());
  struct Mode {
    std::string_view name;
    int bytes;
  };
  static constexpr std::array<Mode, 14> k_modes{{{"qi", 1},
                                                 {"hi", 2},
                                                 {"si", 4},
                                                 {"sf", 4},
                                                 {"di", 8},
                                                 {"df", 8},
                                                 {"v2sf", 8},
                                                 {"v2si", 8},
                                                 {"ti", 16},
                                                 {"tf", 16},
                                                 {"v4sf", 16},
                                                 {"v2df", 16},
                                                 {"v4si", 16},
                                                 {"v2di", 16}}};
  const auto* const found = std::ranges::find(k_modes, mode, &Mode::name);
  return found == k_modes.end() ? 0 : found->bytes;
}

bool is_hook(const Instruction& one, std::string_view name) {
  const auto at = one.text.find(name);
  return at != std::string_view::npos && word_at(one.text, at) == name;
}

// Functions that return without calling the program: no chain of calls grows by them. The frame that calls an
// allocator names the block's object.
bool is_leaf_of_program(std::string_view target) {
  static constexpr std::array<std::string_view, 11> k_names{
      "malloc",   "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign",
      "memalign", "valloc", "strdup",  "strndup",      "free"};
  static constexpr std::array<std::string_view, 4> k_operators{"_Znw", "_Zna", "_Zdl", "_Zda"};
  if (target.starts_with('*')) target.remove_prefix(1);
  const auto name = target.substr(0, target.find_first_of("@("));
  return name.starts_with("terrace_") || std::ranges::count(k_names, name) != 0 ||
         std::ranges::any_of(k_operators, [&](std::string_view begin) { return name.starts_with(begin); });
}

// Functions that return twice, and addresses of thread-local data, around which the linker rewrites code.
bool returns_twice(std::string_view text) {
  for (const std::string_view name : {"setjmp", "vfork", "getcontext", "savectx"})
    if (text.find(name) != std::string_view::npos) return true;
  return false;
}
bool is_linkers(std::string_view text) {
  return text.find("__tls_get_addr") != std::string_view::npos || text.find("@TLS") != std::string_view::npos ||
         text.find("@tls") != std::string_view::npos;
}

// What a function does to its stack frame, as far as it matters for tail calls.
class StackFrame {
 public:
  explicit StackFrame(const std::vector<Instruction>& code) {
    for (const auto& one : code) {
      if (one.mnemonic.empty()) continue;
      if (returns_twice(one.text) && one.mnemonic.starts_with("call")) usable_ = false;
      if (!is_entered_)
        prologue(one);
      else
        body(one);
      if (!usable_) return;
    }
    for (const auto& slot : stored_)
      if (!loaded_.contains(slot)) escapes_ = true;  // maybe a parameter
  }
  // There is one entry hook, and the frame is built before it.
  [[nodiscard]] bool is_usable() const { return usable_ && is_entered_; }
  // Someone else may have an address within it.
  [[nodiscard]] bool escapes() const { return escapes_; }
  [[nodiscard]] bool has_pointer() const { return has_pointer_; }
  [[nodiscard]] bool grows_later() const { return grows_later_; }
  [[nodiscard]] int bytes() const { return bytes_; }

 private:
  void prologue(const Instruction& one) {
    if (one.mnemonic == "call") {
      is_entered_ = is_hook(one, k_entry_hook);
      usable_ = is_entered_;
    } else if (one.mnemonic.starts_with('j') || one.mnemonic.starts_with("ret")) {
      usable_ = false;
    } else if (one.mnemonic.starts_with("push")) {
      bytes_ += k_word;
    } else if (one.text.starts_with("subq\t") && one.last() == "%rsp") {
      const auto size = immediate(one.operands.front());
      usable_ = size.has_value();
      bytes_ += size.value_or(0);
    } else if (one.text.starts_with("addq\t$-") && one.last() == "%rsp") {
      const auto size = immediate(one.operands.front());
      usable_ = size.has_value();
      bytes_ -= size.value_or(0);
    } else if (one.operands.size() == 2 && one.operands[0] == "%rsp" && one.operands[1] == "%rbp") {
      has_pointer_ = true;
    } else {
      references(one);
    }
  }
  void body(const Instruction& one) {
    const bool pushes = one.mnemonic.starts_with("push");
    const bool moves_pointer = one.operands.size() == 2 && one.last() == "%rsp";
    const auto by = moves_pointer ? immediate(one.operands.front()) : std::nullopt;
    if (one.mnemonic == "call" && is_hook(one, k_entry_hook)) usable_ = false;
    if (pushes || (by && (one.mnemonic == "subq") == (*by > 0))) grows_later_ = true;
    if (by || pushes || one.mnemonic.starts_with("pop") || one.mnemonic == "leave") {
      if (pushes) references(one);
      return;
    }
    const bool restores = moves_pointer && (one.operands[0] == "%rbp" || is_slot(one.operands[0])) &&
                          (one.mnemonic == "movq" || one.mnemonic == "leaq");
    if (!restores) references(one);
  }
  void references(const Instruction& one) {
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
      auto operand = one.operands[i];
      if (operand.starts_with('*')) operand.remove_prefix(1);
      const bool in_memory = operand.find('(') != std::string_view::npos;
      const bool of_stack = operand.find("%rsp") != std::string_view::npos || operand.find("%esp") != operand.npos;
      const bool of_pointer = has_pointer_ && !in_memory && whole_register(operand) == "bp";
      const bool through_pointer = has_pointer_ && in_memory && operand.find("%rbp") != std::string_view::npos;
      if (!of_stack && !of_pointer && !through_pointer) continue;
      if (one.mnemonic.starts_with("push")) {
        if (!in_memory && !of_pointer) escapes_ = true;
      } else if (!in_memory || one.mnemonic.starts_with("lea")) {
        escapes_ = true;
      } else if (operand.ends_with("(%rsp)")) {
        const bool stores = i + 1 == one.operands.size() && i > 0;
        if (stores) stored_.insert(operand);
        if (!stores || one.mnemonic.find("mov") == std::string_view::npos) loaded_.insert(operand);
      }
    }
  }

  bool usable_ = true;
  bool is_entered_ = false;
  bool has_pointer_ = false;  // %rbp
  bool grows_later_ = false;  // for parameters
  bool escapes_ = false;
  int bytes_ = 0;
  std::set<std::string_view> stored_, loaded_;  // places by the stack pointer
};

using Lines = std::span<const std::string_view>;

class TailCallFinder {
 public:
  TailCallFinder(std::string_view name, Lines lines) : name_(name), lines_(lines) {
    code_.reserve(lines.size());
    bool own_assembly = false;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      code_.push_back(parse(lines_[i]));
      if (lines_[i].starts_with("#APP")) own_assembly = true;
      if (own_assembly) own_assembly_.insert(i);
      if (lines_[i].starts_with("#NO_APP")) own_assembly = false;
      if (const auto label = any_label_of(lines_[i]); !label.empty()) labels_.emplace(label, i);
      const auto directive = first_word_of(lines_[i]);
      if (directive == ".cfi_lsda") has_handlers_ = true;
      if (directive == ".cfi_startproc") has_frames_ = true;
    }
  }

  // The lines that take the place of a line, for those that are replaced.
  [[nodiscard]] std::map<std::size_t, std::string> replacements() const {
    std::map<std::size_t, std::string> found;
    const StackFrame frame(code_);
    if (!frame.is_usable()) return found;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      const auto& one = code_[i];
      if (one.mnemonic != "call" || one.operands.size() != 1 || own_assembly_.contains(i)) continue;
      if (hook_called(one.text) != Hook::none || is_linkers(one.text) || is_leaf_of_program(one.operands[0]))
        continue;
      const bool resumes = resumes_coroutine(i);
      if (!resumes && (frame.escapes() || !passes_exceptions(i))) continue;
      if (const auto epilogue = epilogue_behind(i, frame)) found.emplace(i, jump(one, *epilogue));
    }
    return found;
  }

 private:
  // gcc calls the parts of a coroutine "actor". It goes on with another one by the first word of that one's frame,
  // and has all that it needs later in its own, which is not on the stack.
  [[nodiscard]] bool resumes_coroutine(std::size_t call) const {
    const auto target = code_[call].operands[0];
    return name_.find(".actor") != std::string_view::npos && target.starts_with('*') &&
           target.find("(%rip)") == std::string_view::npos;
  }

  // Whether an exception from this call goes on to the caller, and is neither handled here nor ends the program.
  [[nodiscard]] bool passes_exceptions(std::size_t call) const {
    if (!has_handlers_) return true;
    // The table of calls: begin, length, landing pad (0: none), action; a call in no line of it must not throw.
    std::size_t seen = 0;
    for (std::size_t i = 0; i + 3 < lines_.size(); ++i) {
      const auto begin = difference(lines_[i]);
      if (begin.empty() || !begin.starts_with(".LEHB")) continue;
      const auto end = difference(lines_[i + 1]);
      const auto from = labels_.find(begin);
      const auto to = labels_.find(end);
      if (from == labels_.end() || to == labels_.end()) continue;
      if (call < from->second || call > to->second) continue;
      ++seen;
      const auto pad = difference(lines_[i + 2]);
      if (pad.empty() ? trim(lines_[i + 2]) != ".uleb128 0" : !only_leaves(pad)) return false;
    }
    return seen == 1;
  }
  // The first label of ".uleb128 .LEHB0-.LFB3"; "" for other lines.
  static std::string_view difference(std::string_view line) {
    if (first_word_of(line) != ".uleb128") return {};
    const auto begin = line.find(".L");
    return begin == std::string_view::npos ? std::string_view{} : word_at(line, begin);
  }
  // A landing pad that calls the exit hook and goes on with the exception.
  [[nodiscard]] bool only_leaves(std::string_view pad) const {
    auto found = labels_.find(pad);
    if (found == labels_.end()) return false;
    std::size_t at = found->second;
    for (int steps = 0; steps < k_max_walk && ++at < code_.size(); ++steps) {
      const auto& one = code_[at];
      if (one.mnemonic.empty() || one.mnemonic == "endbr64") continue;
      if (one.mnemonic == "jmp") {
        found = labels_.find(one.last());
        if (found == labels_.end()) return false;
        at = found->second;
      } else if (one.mnemonic == "call") {
        if (is_hook(one, "_Unwind_Resume")) return true;
        const bool known = is_hook(one, k_exit_hook) || hook_called(one.text) == Hook::block;
        if (!known) return false;
      } else if (!one.mnemonic.starts_with("mov") || one.operands.size() != 2 ||
                 whole_register(one.operands[0]).empty() || whole_register(one.operands[1]).empty()) {
        return false;
      }
    }
    return false;
  }

  // Where a value that the callee returned is now, and how much of it.
  struct Value {
    std::string_view of;
    int bytes;
  };
  struct Walk {
    std::map<std::string_view, Value> values{
        {"a", {"a", 8}}, {"d", {"d", 8}}, {"xmm0", {"xmm0", 16}}, {"xmm1", {"xmm1", 16}}};
    std::set<std::string_view> others;  // registers of returned values that have another one
    std::vector<std::string> epilogue;
    int freed = 0;
    bool by_pointer = false;  // %rbp tells where the frame was
    bool exits = false;
  };

  // What gives the frame back; null where the call is not the last thing that the function does.
  [[nodiscard]] std::optional<std::vector<std::string>> epilogue_behind(std::size_t call,
                                                                        const StackFrame& frame) const {
    Walk walk;
    std::size_t at = call;
    for (int steps = 0; steps < k_max_walk && ++at < lines_.size(); ++steps) {
      const auto& one = code_[at];
      if (own_assembly_.contains(at)) return std::nullopt;
      if (one.mnemonic.empty()) {
        keep_directive(lines_[at], walk);
        --steps;
        continue;
      }
      if (one.mnemonic == "ret") return is_complete(walk, frame) ? std::optional(walk.epilogue) : std::nullopt;
      if (one.mnemonic == "jmp") {
        if (is_hook(one, k_exit_hook)) {
          walk.exits = true;
          forget_clobbered(walk);
          return is_complete(walk, frame) ? std::optional(walk.epilogue) : std::nullopt;
        }
        const auto found = labels_.find(one.last());
        if (found == labels_.end()) return std::nullopt;
        at = found->second;
        continue;
      }
      if (!step(one, walk)) return std::nullopt;
    }
    return std::nullopt;
  }
  static bool step(const Instruction& one, Walk& walk) {
    if (one.mnemonic == "call") {
      const bool exits = is_hook(one, k_exit_hook);
      if (!exits && hook_called(one.text) != Hook::block) return false;
      walk.exits |= exits;
      forget_clobbered(walk);
      return true;
    }
    if (one.mnemonic == "nop" || one.mnemonic == "vzeroupper") return true;
    if (one.mnemonic == "leave") {
      walk.by_pointer = true;
      walk.epilogue.emplace_back(one.text);
      return true;
    }
    if (one.mnemonic == "popq" && one.operands.size() == 1) return pop(one, walk);
    if (one.operands.size() != 2) return false;
    if (one.last() == "%rsp") return move_pointer(one, walk);
    return copy(one, walk);
  }
  static bool pop(const Instruction& one, Walk& walk) {
    const auto to = whole_register(one.operands[0]);
    if (to.empty() || to == "sp") return false;
    walk.freed += k_word;
    if (is_preserved(to)) {
      walk.epilogue.emplace_back(one.text);
    } else {  // only to free a word; the register has one of the callee's parameters
      walk.values.erase(to);
      walk.epilogue.emplace_back("leaq\t8(%rsp), %rsp");
    }
    return true;
  }
  static bool move_pointer(const Instruction& one, Walk& walk) {
    if (const auto by = immediate(one.operands[0])) {
      if (one.mnemonic != "addq" && one.mnemonic != "subq") return false;
      walk.freed += one.mnemonic == "addq" ? *by : -*by;
    } else if ((one.mnemonic == "movq" && one.operands[0] == "%rbp") ||
               (one.mnemonic == "leaq" && one.operands[0].ends_with("(%rbp)"))) {
      walk.by_pointer = true;
    } else {
      return false;
    }
    walk.epilogue.emplace_back(one.text);
    return true;
  }
  static bool copy(const Instruction& one, Walk& walk) {
    const auto place = [](std::string_view operand) {
      return is_slot(operand) ? operand : whole_register(operand);
    };
    const auto from = place(one.operands[0]);
    const auto to = place(one.operands[1]);
    const int bytes = copied_bytes(one.pattern);
    if (from.empty() || to.empty() || to == "sp" || bytes == 0) return false;
    const auto known = walk.values.find(from);
    if (known != walk.values.end() && known->second.bytes >= bytes) {
      walk.values.insert_or_assign(to, Value{known->second.of, bytes});
      walk.others.erase(to);
    } else {
      const bool restores = is_slot(one.operands[0]) && is_preserved(to) && bytes == k_word;
      if (!restores && !returns_values(to)) return false;
      walk.values.erase(to);
      if (restores)
        walk.epilogue.emplace_back(one.text);
      else
        walk.others.insert(to);
    }
    return true;
  }
  static void forget_clobbered(Walk& walk) {
    std::erase_if(walk.values,
                  [](const auto& value) { return !is_slot(value.first) && !is_preserved(value.first); });
    walk.others.clear();
  }
  static void keep_directive(std::string_view line, Walk& walk) {
    const auto word = first_word_of(line);
    if (walk.epilogue.empty()) return;
    if (word.starts_with(".cfi_def_cfa") || word == ".cfi_restore") walk.epilogue.emplace_back(trim(line));
  }
  static bool is_complete(const Walk& walk, const StackFrame& frame) {
    if (!walk.exits || !walk.others.empty()) return false;
    if (walk.by_pointer ? !frame.has_pointer() || frame.grows_later() : walk.freed != frame.bytes()) return false;
    // What the registers of returned values have is what the callee left there, or nothing.
    return std::ranges::all_of(walk.values, [](const auto& value) {
      return !returns_values(value.first) || value.second.of == value.first;
    });
  }

  [[nodiscard]] std::string jump(const Instruction& call, const std::vector<std::string>& epilogue) const {
    std::string text = "\tcall\t*__tsan_func_exit_tail@GOTPCREL(%rip)\n";
    auto target = call.operands[0];
    const bool computed = target.starts_with('*') && target.find("(%rip)") == std::string_view::npos;
    if (computed) text.append("\tmovq\t").append(target.substr(1)).append(", %r11\n");
    if (has_frames_) text += "\t.cfi_remember_state\n";
    for (const auto& line : epilogue) {
      if (has_frames_ || !line.starts_with(".cfi_")) text.append("\t").append(line).append("\n");
    }
    text.append("\tjmp\t").append(computed ? "*%r11" : target).append("\n");
    if (has_frames_) text += "\t.cfi_restore_state\n";
    return text;
  }

  std::string_view name_;
  Lines lines_;
  std::vector<Instruction> code_;                   // by line
  std::map<std::string_view, std::size_t> labels_;  // their lines
  std::set<std::size_t> own_assembly_;              // lines that the program wrote itself
  bool has_handlers_ = false;
  bool has_frames_ = false;
};

class Restorer {
 public:
  explicit Restorer(bool restores) : restores_(restores) {}
  void line(std::string_view line) {
    lines_.push_back(line);
    if (const auto name = function_ended_by(line); !name.empty()) end_function(name);
  }
  [[nodiscard]] std::string text() {
    write(lines_, {}, 0);
    return std::move(out_);
  }

 private:
  void end_function(std::string_view name) {
    const Lines all = lines_;
    const auto begin = static_cast<std::size_t>(std::ranges::find(all, name, any_label_of) - all.begin());
    std::map<std::size_t, std::string> replaced;
    if (restores_ && begin < all.size()) replaced = TailCallFinder(name, all.subspan(begin)).replacements();
    write(all, replaced, begin);
    lines_.clear();
  }
  void write(Lines lines, const std::map<std::size_t, std::string>& replaced, std::size_t begin) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto found = i >= begin ? replaced.find(i - begin) : replaced.end();
      if (found != replaced.end())
        out_ += found->second;
      else
        out_.append(lines[i].substr(0, find_comment(lines[i]))).push_back('\n');
    }
  }

  bool restores_;
  std::vector<std::string_view> lines_;  // since the last function's end
  std::string out_;
};

}  // namespace

std::string restore_tail_calls(std::string_view assembly) {
  if (assembly.find(k_cost) == std::string_view::npos) return std::string(assembly);
  Restorer restorer(assembly.find(".intel_syntax") == std::string_view::npos);
  for_each_line(assembly, [&](std::string_view line) { restorer.line(line); });
  return restorer.text();
}

}  // namespace terrace::cli
