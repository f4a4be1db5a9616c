// SPDX-License-Identifier: Apache-2.0
// Builds the command that compiles clang's edited IR, from those of the user's options that affect code
// generation, and passes it from terrace-cc to the assembler stand-in as one encoded word. See ir_command.hpp.
#include "cli/wrapper/ir_command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <span>

#include "cli/wrapper/wrapper_command.hpp"

namespace terrace::cli {

namespace {

constexpr auto k_sources = std::to_array<std::string_view>(
    {".c", ".i", ".ii", ".cc", ".cp", ".cpp", ".cxx", ".c++", ".C", ".CC", ".CPP", ".CXX"});

// Options with which clang does something else than compile sources to objects, or to assembly, by way of one file
// of IR.
constexpr auto k_other_steps =
    std::to_array<std::string_view>({"-E", "-M", "-MM", "-fsyntax-only", "-emit-llvm", "-emit-ast", "--analyze",
                                     "--precompile", "-fintegrated-as", "-integrated-as"});
constexpr auto k_other_steps_begin =
    std::to_array<std::string_view>({"-flto", "-fembed-bitcode", "-fopenmp-targets", "--offload"});
constexpr auto k_other_actions =
    std::to_array<std::string_view>({"-emit", "-ast", "-E", "-S", "-fsyntax", "-load", "-plugin", "-add-plugin"});

// Options that are applied before there is IR, or would write a file a second time. Debug information stays
// in the object (-gsplit-dwarf): clang would write a .dwo file, and the user's command another one, which is
// empty.
constexpr auto k_done = std::to_array<std::string_view>(
    {"-gsplit-dwarf", "-fprofile", "-fcoverage", "-fsanitize", "-fplugin", "-fpass-plugin", "-ftime-trace",
     "-fsave-optimization-record", "-foptimization-record", "-fmodule", "-M"});
constexpr auto k_code = std::to_array<std::string_view>({"-f", "-m", "-O", "-g", "--target=", "-Wa,"});

bool begins_with_one_of(std::string_view word, std::span<const std::string_view> begins) {
  return std::ranges::any_of(begins, [&](std::string_view begin) { return word.starts_with(begin); });
}

bool is_among(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::count(words, word) != 0;
}

// Sorts the words of a command into those that tell how code is generated and others.
class CodeOptions {
 public:
  // Takes the next word of the user's command.
  void add(const std::string& word) {
    is_assembly_ |= awaited_.empty() && word == "-S";
    if (!awaited_.empty()) {
      add_value(word);
      awaited_.clear();
    } else if (takes_value(word)) {
      awaited_ = word;
    } else if (word == "-" || !word.starts_with('-')) {
      const auto ending = std::filesystem::path(word).extension().string();
      const bool is_source = word == "-" ? has_language_ : is_among(ending, k_sources);
      num_sources_ += is_source ? 1 : 0;
      is_usual_ &= is_source || is_object(word);
    } else if (is_among(word, k_other_steps) || begins_with_one_of(word, k_other_steps_begin)) {
      is_usual_ = false;
    } else {
      if (word.starts_with("-x")) language(word.substr(2));
      if (word.starts_with("-O")) optimises_ = word != "-O0";
      if (begins_with_one_of(word, k_code) && !begins_with_one_of(word, k_done)) words_.push_back(word);
    }
  }
  // Assembly of several sources has several names, which the wrapper would have to choose.
  [[nodiscard]] bool has_ir() const {
    return num_sources_ > 0 && is_usual_ && optimises_ && !(is_assembly_ && num_sources_ > 1);
  }
  [[nodiscard]] bool is_assembly() const { return is_assembly_; }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  // Takes a word that is the value of the option before it.
  void add_value(const std::string& value) {
    if (awaited_ == "-x") language(value);
    if (awaited_ == "-Xclang" && begins_with_one_of(value, k_other_actions)) is_usual_ = false;
    if (awaited_ == "-Xclang" || awaited_ == "-mllvm" || awaited_ == "-target" || awaited_ == "-Xassembler")
      words_.insert(words_.end(), {awaited_, value});
  }
  void language(std::string_view name) {
    has_language_ = name == "c" || name == "c++";
    is_usual_ &= has_language_ || name == "none";
  }

  std::vector<std::string> words_;
  std::string awaited_;
  int num_sources_ = 0;
  bool is_assembly_ = false;
  bool is_usual_ = true;
  bool optimises_ = false;
  bool has_language_ = false;
};

}  // namespace

std::vector<std::string> ir_command(const std::string& compiler, const std::vector<std::string>& arguments) {
  CodeOptions options;
  for (const auto& word : arguments) options.add(word);
  if (!options.has_ir()) return {};
  auto words = options.words();
  words.insert(words.begin(), {compiler, "-Qunused-arguments", "-fno-plt"});
  if (options.is_assembly()) words.emplace_back("-S");
  return words;
}

bool is_save_temps(std::string_view word) {
  return word.starts_with("-save-temps") || word.starts_with("--save-temps");
}

// Changes the user's arguments for clang's first step, which writes IR: -S becomes -c with the name of the
// assembly.
std::vector<std::string> ir_arguments(std::vector<std::string> arguments) {
  std::erase_if(arguments, is_save_temps);
  const auto assembly = std::ranges::find(arguments, "-S");
  if (assembly == arguments.end()) return arguments;
  *assembly = "-c";
  std::string source, awaited;
  bool has_output = false;
  for (const auto& word : arguments) {
    has_output |= word.starts_with("-o");
    if (!awaited.empty())
      awaited.clear();
    else if (takes_value(word))
      awaited = word;
    else if (!word.starts_with('-'))
      source = word;
  }
  if (!has_output)
    arguments.insert(arguments.end(),
                     {"-o", (source.empty() ? "-" : std::filesystem::path(source).stem().string()) + ".s"});
  return arguments;
}

// Encodes a command in one word for the option k_ir_command: words separated by ':', other characters as %XX.
std::string encode_words(const std::vector<std::string>& words) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text.push_back(':');
    for (const char c : word) {
      const auto code = static_cast<unsigned char>(c);
      if (std::isalnum(code) != 0 || std::string_view("-_./=+").find(c) != std::string_view::npos)
        text.push_back(c);
      else
        text.append({'%', k_digits[code / 16], k_digits[code % 16]});
    }
  }
  return text;
}

// Decodes what encode_words() wrote. Called by the assembler stand-in.
std::vector<std::string> decode_words(std::string_view text) {
  std::vector<std::string> words;
  if (text.empty()) return words;
  words.emplace_back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':') {
      words.emplace_back();
    } else if (text[i] == '%' && i + 2 < text.size()) {
      int code = 0;
      std::from_chars(text.data() + i + 1, text.data() + i + 3, code, 16);
      words.back().push_back(static_cast<char>(code));
      i += 2;
    } else {
      words.back().push_back(text[i]);
    }
  }
  return words;
}

}  // namespace terrace::cli
