// What --core-time takes, and what it refuses.
#include "cli/core_time_option.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace terrace::cli {
namespace {

TEST(CoreTimeOption, TakesATimeForTheProgramAndTimesForPhasesInTheirOrder) {
  const auto read = read_core_times({"psinv.*=0.2ns", "0.12ns", "a=b=1us"});
  EXPECT_EQ(read.program, Seconds{0.12e-9});
  EXPECT_EQ(read.phases.phases,
            (std::vector<observe::CoreTimes::OfPhases>{{"psinv.*", {0.2e-9}}, {"a=b", {1e-6}}}));
  EXPECT_EQ(read_core_times({}).program, std::nullopt);
  EXPECT_TRUE(read_core_times({"1ns"}).phases.empty());
}

TEST(CoreTimeOption, RefusesInOneLineThatSaysWhy) {
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

}  // namespace
}  // namespace terrace::cli
