// SPDX-License-Identifier: Apache-2.0
// Builds the compiler's command for terrace-cc, terrace-c++ and terrace-fc: tables of compiler options, and the
// flags that instrument and link. See wrapper_command.hpp.
#include "cli/wrapper/wrapper_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/wrapper/ir_command.hpp"
#include "core/error.hpp"

namespace terrace::cli {

namespace fs = std::filesystem;

namespace {

constexpr int k_response_depth = 8;  // maximum nesting; ends a file that includes itself

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

// Options whose value is the next word; joined forms need no entry.
constexpr std::array<std::string_view, 34> k_takes_value{"-o",
                                                         "-I",
                                                         "-L",
                                                         "-l",
                                                         "-D",
                                                         "-U",
                                                         "-x",
                                                         "-T",
                                                         "-u",
                                                         "-z",
                                                         "-e",
                                                         "-J",
                                                         "-A",
                                                         "-B",
                                                         "-MF",
                                                         "-MT",
                                                         "-MQ",
                                                         "-include",
                                                         "-imacros",
                                                         "-isystem",
                                                         "-iquote",
                                                         "-idirafter",
                                                         "-iprefix",
                                                         "-iwithprefix",
                                                         "-iwithprefixbefore",
                                                         "-isysroot",
                                                         "-Xlinker",
                                                         "-Xpreprocessor",
                                                         "-Xassembler",
                                                         "-Xclang",
                                                         "-mllvm",
                                                         "-target",
                                                         "--param",
                                                         "-aux-info"};

// Options that stop before linking.
constexpr std::array<std::string_view, 7> k_does_not_link{"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"};

constexpr std::array<std::string_view, 3> k_static{"-static", "-static-pie", "--static"};

constexpr std::array<std::string_view, 5> k_object_endings{".o", ".obj", ".lo", ".a", ".so"};

constexpr std::array<std::string_view, 16> k_fortran_endings{".f",   ".F",   ".for", ".FOR", ".ftn", ".FTN",
                                                             ".fpp", ".FPP", ".f77", ".F77", ".f90", ".F90",
                                                             ".f95", ".F95", ".f03", ".f08"};

std::vector<std::string> read_response(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  return split_response({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

// Scans the arguments of a wrapper.
class ArgumentScanner {
 public:
  explicit ArgumentScanner(WrapperRequest& request) : request_(request) {}

  // Scans words, and those of response files (@FILE) that they name.
  void scan_words(const std::vector<std::string>& list, int depth) {
    for (const auto& word : list) {
      if (word.size() > 1 && word[0] == '@' && depth < k_response_depth)
        scan_words(read_response(word.substr(1)), depth + 1);
      else
        scan_word(word);
    }
  }
  [[nodiscard]] bool stops_early() const { return stops_early_; }
  // Follows the compilers' rule: the last -O level counts, and an explicit option takes precedence.
  [[nodiscard]] bool wants_sibling_calls() const {
    return named_sibling_calls_.value_or(level_has_sibling_calls_);
  }

 private:
  void scan_word(const std::string& word) {
    request_.words.push_back(word);
    if (!awaited_.empty()) {
      if (awaited_ == "-l") request_.inputs = true;
      if (awaited_ == "-x") language(word);
      awaited_.clear();
    } else if (is_one_of(word, k_does_not_link)) {
      stops_early_ = true;
    } else if (is_one_of(word, k_static)) {
      request_.is_static = true;
    } else if (is_one_of(word, k_takes_value)) {
      awaited_ = word;
    } else if (word.starts_with("-x")) {
      language(word.substr(2));
    } else if (word.starts_with("-l")) {
      request_.inputs = true;
    } else if (word.starts_with("-O")) {
      const auto level = std::string_view(word).substr(2);
      level_has_sibling_calls_ = !level.empty() && level != "0" && level != "1" && level != "g";
    } else if (word == "-foptimize-sibling-calls" || word == "-fno-optimize-sibling-calls") {
      named_sibling_calls_ = word == "-foptimize-sibling-calls";
    } else if (word == "-" || !word.starts_with('-')) {
      const auto ending = fs::path(word).extension().string();
      request_.inputs = true;
      request_.compiles |= !is_object(word);
      request_.fortran |= is_one_of(ending, k_fortran_endings);
    }
  }
  void language(std::string_view name) { request_.fortran |= name.starts_with("f77") || name.starts_with("f95"); }

  WrapperRequest& request_;
  std::string awaited_;
  bool stops_early_ = false;
  bool level_has_sibling_calls_ = false;
  std::optional<bool> named_sibling_calls_;
};

bool goes_by(const std::vector<std::string>& compiler, std::initializer_list<std::string_view> names) {
  if (compiler.empty()) return false;
  const auto name = fs::path(compiler.back()).filename().string();
  return std::ranges::any_of(names, [&](std::string_view known) { return name.find(known) != std::string::npos; });
}

const char* name_of(WrapperLanguage language) {
  switch (language) {
    case WrapperLanguage::c:
      return "terrace-cc";
    case WrapperLanguage::cxx:
      return "terrace-c++";
    case WrapperLanguage::fortran:
      return "terrace-fc";
  }
  return "";
}

// Returns the command of clang's second step, for the stand-in; empty for derived compilers, whose steps may
// differ.
std::vector<std::string> clang_ir_command(const WrapperCall& call, const WrapperRequest& request) {
  if (!goes_by(call.compiler, {"clang"})) return {};
  // Requires the options that this changes on the command line itself: response files are passed on unchanged.
  const auto is_changed = [](const std::string& word) { return word == "-S" || is_save_temps(word); };
  if (std::ranges::count_if(request.words, is_changed) != std::ranges::count_if(call.arguments, is_changed))
    return {};
  return ir_command(call.compiler.back(), request.words);
}

// Adds the flags that instrument the code.
void add_compile_flags(const WrapperCall& call, const WrapperRequest& request, const WrapperLayout& layout,
                       std::vector<std::string>& words) {
  if (is_clang(call.compiler)) {
    // Given to the compiler proper only: the driver would link its own run-time library. Vectorised loops are not
    // instrumented.
    words.insert(words.end(),
                 {"-Xclang", "-fsanitize=thread", "-fno-vectorize", "-fno-slp-vectorize",
                  // At basic blocks, too: how much is done between accesses.
                  "-Xclang", "-fsanitize-coverage-type=3", "-Xclang", "-fsanitize-coverage-trace-pc"});
    if (const auto command = clang_ir_command(call, request); !command.empty())
      words.insert(words.end(), {"-fno-integrated-as", "-B" + layout.stand_ins, "-Xclang", "-emit-llvm",
                                 "-Wa," + std::string(k_ir_command) + encode_words(command)});
  } else {
    // Undefine the macro, which makes headers request annotations. -Wtsan warns of constructs that the real
    // sanitizer cannot check; Terrace only observes accesses.
    words.insert(words.end(), {"-fsanitize=thread", "-U__SANITIZE_THREAD__", "-Wno-tsan",
                               // At basic blocks, too: how much is done between accesses. The assembler in the
                               // folder leaves most of them out again.
                               "-fsanitize-coverage=trace-pc", "-B" + layout.stand_ins,
                               // And it puts instructions behind calls, which use a register.
                               "-fno-ipa-ra"});
    // It restores tail calls where the names of instruction patterns show that nothing follows them.
    if (request.sibling_calls) words.emplace_back("-dp");
  }
  // Call hooks through the global offset table: the jump through the procedure linkage table is an eighth of the
  // instructions of a disabled hook.
  words.emplace_back("-fno-plt");
  // Copies of constant size would be expanded in place, unseen. (Fortran has no such option.)
  if (call.language != WrapperLanguage::fortran && !request.fortran)
    words.insert(words.end(), {"-fno-builtin-memcpy", "-fno-builtin-memset", "-fno-builtin-memmove"});
}

// Returns the user's arguments, changed where clang compiles in two steps (ir_command.hpp).
std::vector<std::string> given_arguments(const WrapperCall& call) {
  if (call.off) return call.arguments;
  const auto request = examine_request(call);
  if (!request.compiles || clang_ir_command(call, request).empty()) return call.arguments;
  return ir_arguments(call.arguments);
}

// Adds the flags that link the program with the library, first in its list of libraries.
void add_link_flags(const WrapperLayout& layout, std::vector<std::string>& words) {
  words.insert(words.end(), {"-B" + layout.stand_ins, "-L" + layout.library, "-Wl,-rpath," + layout.library,
                             // First in the program's list of libraries, so that its allocator is the first one
                             // found; kept also where nothing refers to it.
                             "-Wl,--push-state,--no-as-needed", "-lterrace", "-Wl,--pop-state"});
}

}  // namespace

bool takes_value(std::string_view option) { return is_one_of(option, k_takes_value); }

bool is_object(const std::string& name) {
  return is_one_of(fs::path(name).extension().string(), k_object_endings) ||
         name.find(".so.") != std::string::npos;
}

WrapperRequest examine_request(const WrapperCall& call) {
  WrapperRequest request;
  ArgumentScanner scanner(request);
  scanner.scan_words(call.arguments, 0);
  request.sibling_calls = scanner.wants_sibling_calls();
  request.links = request.inputs && !scanner.stops_early();
  return request;
}

bool is_clang(const std::vector<std::string>& compiler) {
  return goes_by(compiler, {"clang", "icx", "icpx", "aocc"});
}

bool is_flang(const std::vector<std::string>& compiler) { return goes_by(compiler, {"flang"}); }

std::vector<std::string> wrapper_command(const WrapperCall& call, const WrapperLayout& layout) {
  auto words = call.compiler;
  if (!call.off) {
    const auto request = examine_request(call);
    if (request.links && request.is_static)
      throw Error(Code::invalid,
                  std::string(name_of(call.language)) +
                      ": -static cannot work: a static program has no allocation that can be followed; "
                      "link dynamically, or set TERRACE_WRAPPER=off");
    const bool flang = is_flang(call.compiler);
    if (request.compiles && flang)
      throw Error(Code::invalid,
                  std::string(name_of(call.language)) + ": " + call.compiler.back() +
                      " cannot instrument programs; compile with gfortran (TERRACE_FC=gfortran), or "
                      "without instrumentation (TERRACE_WRAPPER=off)");
    if (request.inputs && !flang) add_compile_flags(call, request, layout, words);
    if (request.links) add_link_flags(layout, words);
  }
  const auto arguments = given_arguments(call);
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

std::string wrapper_note(const WrapperCall& call) {
  if (call.off || !goes_by(call.compiler, {"clang"})) return {};
  const auto request = examine_request(call);
  const auto has = [&](std::string_view begin) {
    return std::ranges::any_of(request.words, [&](const auto& word) { return word.starts_with(begin); });
  };
  const auto begin = std::string(name_of(call.language)) + ": ";
  if (request.compiles && std::ranges::any_of(call.arguments, is_save_temps) &&
      !clang_ir_command(call, request).empty())
    return begin + "-save-temps is ignored: clang's intermediate files are not kept where it instruments";
  if (request.links && has("-flto") && !has("-fno-lto"))
    return begin +
           "with -flto clang keeps no tail calls in instrumented code, so that deep recursion needs more stack; "
           "compile without -flto if that matters";
  return {};
}

std::vector<std::string> split_response(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word.push_back(text[++i]);
      in_word = true;
    } else if (quote != '\0') {
      if (c == quote)
        quote = '\0';
      else
        word.push_back(c);
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (in_word) words.push_back(std::exchange(word, {}));
      in_word = false;
    } else {
      word.push_back(c);
      in_word = true;
    }
  }
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::string quote_command(const std::vector<std::string>& words) {
  std::string line;
  for (const auto& word : words) {
    if (!line.empty()) line.push_back(' ');
    const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
      return std::isalnum(c) ||
             std::string_view("_-+=./,:@%^").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (plain) {
      line += word;
      continue;
    }
    line.push_back('\'');
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line.push_back('\'');
  }
  return line;
}

}  // namespace terrace::cli
