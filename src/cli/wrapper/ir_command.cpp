// See ir_command.hpp.
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

// Options with which clang does something else than compile sources to objects by way of one file of IR.
constexpr auto k_other_steps =
    std::to_array<std::string_view>({"-S", "-E", "-M", "-MM", "-fsyntax-only", "-emit-llvm", "-emit-ast",
                                     "--analyze", "--precompile", "-fintegrated-as", "-integrated-as"});
constexpr auto k_other_steps_begin = std::to_array<std::string_view>(
    {"-save-temps", "--save-temps", "-flto", "-fembed-bitcode", "-gsplit-dwarf", "-fopenmp-targets", "--offload"});
constexpr auto k_other_actions =
    std::to_array<std::string_view>({"-emit", "-ast", "-E", "-S", "-fsyntax", "-load", "-plugin", "-add-plugin"});

// Options whose work is done when there is IR, or that would write a file a second time.
constexpr auto k_done = std::to_array<std::string_view>(
    {"-fprofile", "-fcoverage", "-fsanitize", "-fplugin", "-fpass-plugin", "-ftime-trace",
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
  void add(const std::string& word) {
    if (!awaited_.empty()) {
      add_value(word);
      awaited_.clear();
    } else if (takes_value(word)) {
      awaited_ = word;
    } else if (word == "-" || !word.starts_with('-')) {
      const auto ending = std::filesystem::path(word).extension().string();
      const bool is_source = word == "-" ? has_language_ : is_among(ending, k_sources);
      compiles_ |= is_source;
      is_usual_ &= is_source || is_object(word);
    } else if (is_among(word, k_other_steps) || begins_with_one_of(word, k_other_steps_begin)) {
      is_usual_ = false;
    } else {
      if (word.starts_with("-x")) language(word.substr(2));
      if (word.starts_with("-O")) optimises_ = word != "-O0";
      if (begins_with_one_of(word, k_code) && !begins_with_one_of(word, k_done)) words_.push_back(word);
    }
  }
  [[nodiscard]] bool has_ir() const { return compiles_ && is_usual_ && optimises_; }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
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
  bool compiles_ = false;
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
  return words;
}

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
