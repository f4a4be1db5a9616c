// Tests the command lines that the compiler wrappers build, without running a compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/wrapper/wrapper_command.hpp"
#include "core/error.hpp"
#include "run_program.hpp"

namespace terrace {
namespace {

namespace fs = std::filesystem;
using cli::WrapperLanguage;
using test::run_program;

cli::WrapperRequest examine(std::vector<std::string> arguments) {
  return cli::examine_request({WrapperLanguage::c, {"gcc"}, std::move(arguments)});
}

TEST(WrapperRules, Command_LinkingOrNot_IsRecognised) {
  EXPECT_TRUE(examine({"a.c", "-o", "a"}).links);
  EXPECT_TRUE(examine({"a.o", "b.o", "-lm"}).links);
  EXPECT_TRUE(examine({"-shared", "a.o", "-o", "liba.so"}).links);
  EXPECT_TRUE(examine({"-x", "c", "-"}).links);
  EXPECT_TRUE(examine({"-lfoo"}).links);
  EXPECT_FALSE(examine({"-c", "a.c"}).links);
  EXPECT_FALSE(examine({"-O2", "-S", "a.c"}).links);
  EXPECT_FALSE(examine({"-E", "a.c"}).links);
  EXPECT_FALSE(examine({"-M", "a.c"}).links);
  EXPECT_FALSE(examine({"-r", "a.o", "-o", "b.o"}).links);
  // Only a value of another option.
  EXPECT_TRUE(examine({"a.c", "-o", "-c"}).links);
  EXPECT_TRUE(examine({"-MD", "-MF", "a.d", "a.c"}).links);
}

TEST(WrapperRules, Command_WithoutCompilation_IsUnchanged) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--version"},
                                                {"-v"},
                                                {"-print-prog-name=ld"},
                                                {"-dumpmachine"},
                                                {"-o", "a"},
                                                {}}) {
    auto expected = words;
    expected.insert(expected.begin(), "gcc");
    EXPECT_EQ(cli::wrapper_command({WrapperLanguage::c, {"gcc"}, words}, {"/lib", "/stand-ins"}), expected);
  }
}

TEST(WrapperRules, UserFlags_AnyCommand_ComeLast) {
  const auto command =
      cli::wrapper_command({WrapperLanguage::c, {"ccache", "gcc"}, {"-fno-sanitize=thread", "-c", "a.c"}}, {});
  EXPECT_EQ(command[0], "ccache");
  EXPECT_EQ(command[1], "gcc");
  const auto ours = std::ranges::find(command, "-fsanitize=thread");
  const auto theirs = std::ranges::find(command, "-fno-sanitize=thread");
  ASSERT_NE(ours, command.end());
  EXPECT_LT(ours, theirs);
  for (const auto& word : command)
    EXPECT_FALSE(word.starts_with("-O") || word == "-g" || word == "-lterrace") << word;
}

TEST(WrapperRules, Clang_Compiling_DisablesVectorisation) {
  EXPECT_TRUE(cli::is_clang({"/usr/bin/clang-14"}));
  EXPECT_TRUE(cli::is_clang({"ccache", "clang++"}));
  EXPECT_FALSE(cli::is_clang({"/opt/clang/bin/gcc"}));
  const auto command = cli::wrapper_command({WrapperLanguage::c, {"clang"}, {"-c", "a.c"}}, {});
  for (const char* flag : {"-fno-vectorize", "-fno-slp-vectorize", "-fno-builtin-memcpy"})
    EXPECT_NE(std::ranges::find(command, flag), command.end()) << flag;
}

TEST(WrapperRules, Flang_Compiling_IsRefused) {
  const auto command = [](std::vector<std::string> words) {
    return cli::wrapper_command({WrapperLanguage::fortran, {"flang-new-19"}, std::move(words)},
                                {"/lib", "/stand-ins"});
  };
  for (const std::vector<std::string>& words : {std::vector<std::string>{"-c", "a.f90"}, {"a.f", "b.o"}}) {
    try {
      (void)command(words);
      FAIL() << "flang was asked to instrument";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      EXPECT_STREQ(
          error.what(),
          "terrace-fc: flang-new-19 cannot instrument programs; compile with gfortran (TERRACE_FC=gfortran), "
          "or without instrumentation (TERRACE_WRAPPER=off)");
    }
  }
  const auto linked = command({"a.o", "libb.so.3", "-lc", "-o", "a"});
  EXPECT_NE(std::ranges::find(linked, "-lterrace"), linked.end());
  EXPECT_EQ(std::ranges::find(linked, "-fsanitize=thread"), linked.end());
  EXPECT_EQ(command({"--version"}), (std::vector<std::string>{"flang-new-19", "--version"}));
}

TEST(WrapperRules, StaticProgram_Linking_IsRefusedInOneLine) {
  try {
    (void)cli::wrapper_command({WrapperLanguage::cxx, {"g++"}, {"-static", "a.o"}}, {});
    FAIL() << "-static was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("terrace-c++: -static cannot work")) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  EXPECT_NO_THROW((void)cli::wrapper_command({WrapperLanguage::c, {"gcc"}, {"-static", "-c", "a.c"}}, {}));
  EXPECT_NO_THROW((void)cli::wrapper_command({WrapperLanguage::c, {"gcc"}, {"-static", "a.o"}, true}, {}));
}

TEST(WrapperRules, ResponseFile_Quoted_IsReadAsByTheCompiler) {
  EXPECT_EQ(cli::split_response("a  b\n\tc"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(cli::split_response("'a b' \"c d\"e f\\ g \"\" \"h\\\"i\""),
            (std::vector<std::string>{"a b", "c de", "f g", "", "h\"i"}));
}

TEST(WrapperRules, ShownCommand_PastedInAShell_IsTheSame) {
  const std::vector<std::string> words{"gcc", "-DA=\"b c\"", "it's", "$HOME", "a\\b", ""};
  std::string expected;
  for (const auto& word : words) expected += word + "\n";
  EXPECT_EQ(run_program("printf '%s\\n' " + cli::quote_command(words)).output, expected);
}

}  // namespace
}  // namespace terrace
