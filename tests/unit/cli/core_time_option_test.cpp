// Tests the forms of --core-time, and its errors.
#include "cli/core_time_option.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace terrace::cli {
namespace {

TEST(CoreTimeOption, ProgramAndPhaseTimes_AreParsedInOrder) {
  const auto read = read_core_times({"psinv.*=0.2ns", "0.12ns", "a=b=1us"});
  EXPECT_EQ(read.program, Seconds{0.12e-9});
  EXPECT_EQ(read.times.phases,
            (std::vector<observe::CoreTimes::PhasePattern>{{"psinv.*", {0.2e-9}}, {"a=b", {1e-6}}}));
  EXPECT_EQ(read_core_times({}).program, std::nullopt);
  EXPECT_TRUE(read_core_times({"1ns"}).times.phases.empty());
}

TEST(CoreTimeOption, InvalidText_IsRefusedInOneLine) {
  const auto said = [](const std::vector<std::string>& texts) -> std::string {
    try {
      read_core_times(texts);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid);
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said({"fast"}), "--core-time fast: 'fast' is not a time; write for example 0.05ns, or 'PHASE=0.08ns'");
  EXPECT_EQ(said({"psinv="}), "--core-time psinv=: '' is not a time; write for example 0.05ns, or 'PHASE=0.08ns'");
  EXPECT_EQ(said({"-1ns"}), "--core-time -1ns: '-1ns' is not a time; write for example 0.05ns, or 'PHASE=0.08ns'");
  EXPECT_EQ(said({"0ns"}),
            "--core-time 0ns: an instruction takes more than 0; leave the option out for the machine's");
  EXPECT_EQ(said({"a=0s"}),
            "--core-time a=0s: an instruction takes more than 0; leave the option out for the machine's");
  EXPECT_EQ(said({"=1ns"}),
            "--core-time =1ns: there is no phase before the '='; a pattern for all of them is '*'");
  EXPECT_EQ(said({"1ns", "a=1ns", "2ns"}),
            "--core-time 2ns: the program's time was given already; a phase's is 'PHASE=2ns'");
}

TEST(CoreTimeOption, NameWithParentheses_SetsTimeOfFunction) {
  const auto read = read_core_times({"1ns", "solve()=2ns", "operator==()=3ns", "solve=4ns"});
  EXPECT_EQ(read.times.functions.size(), 2u);
  EXPECT_EQ(read.times.functions.at("solve"), Seconds{2e-9});
  EXPECT_EQ(read.times.functions.at("operator=="), Seconds{3e-9});
  EXPECT_EQ(read.times.phases.size(), 1u);
  EXPECT_THROW(check_no_functions(read), Error);
  EXPECT_NO_THROW(check_no_functions(read_core_times({"1ns", "a=2ns"})));
}

TEST(CoreTimeOption, File_LinesAndComments_AreParsedAsOptions) {
  CoreTimeOption option;
  parse_core_times("# from here\n\n 50ps \r\nsolve()=80ps\na.*=1ns", "f", option);
  EXPECT_EQ(option.program, Seconds{50e-12});
  EXPECT_EQ(option.times.functions.at("solve"), Seconds{80e-12});
  EXPECT_EQ(option.times.phases.size(), 1u);
}

std::string refusal(std::string_view content) {
  CoreTimeOption option;
  try {
    parse_core_times(content, "f", option);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid);
    return error.what();
  }
  return "nothing";
}

TEST(CoreTimeOption, File_InvalidLine_IsRefusedWithItsNumber) {
  EXPECT_EQ(refusal("1ns\nsolve()="),
            "f:2: --core-time solve()=: '' is not a time; write for example 0.05ns, or "
            "'PHASE=0.08ns'");
  EXPECT_EQ(refusal("a()=1ns\na()=1ns"), "f:2: --core-time a()=1ns: the time of a() was given already");
  EXPECT_EQ(refusal("()=1ns"), "f:1: --core-time ()=1ns: there is no function before the '()='");
  EXPECT_EQ(refusal(std::string_view("a\0b=1ns", 7)),
            "f:1: this line is not text; write TIME, PATTERN=TIME or NAME()=TIME");
  EXPECT_THROW(read_core_times({"@/nowhere"}), Error);
  EXPECT_THROW(read_core_times({"@/"}), Error);
}

// Random bytes are parsed, or refused with one line.
TEST(CoreTimeOption, File_RandomBytes_AreParsedOrRefusedInOneLine) {
  std::minstd_rand draw(7);
  constexpr std::string_view k_pieces[] = {"1ns", "=",  "()", "\n",   "#",  "f", " ",
                                           "0",   "\t", "ps", "\xff", "e9", "-"};
  int read = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string content;
    for (auto n = draw() % 12; n > 0; --n) content += k_pieces[draw() % std::size(k_pieces)];
    const auto said = refusal(content);
    read += said == "nothing";
    EXPECT_EQ(said.find('\n'), std::string::npos) << content;
  }
  EXPECT_GT(read, 200);
}

}  // namespace
}  // namespace terrace::cli
