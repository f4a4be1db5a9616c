// Tests spilled memory of whole programs in virtual time: bit-identical replays, also with other chunk sizes;
// output; refused options.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

constexpr const char* k_caches = "--cache l1=16KiB --cache l2=64KiB --cache l3=1MiB ";
constexpr const char* k_program = "stencil --side 128 --iterations 4";  // two grids of 16 MiB

class OverFile : public ProgramTest {
 protected:
  OverFile() : ProgramTest("over-file") {
    std::filesystem::create_symlink(std::string(TERRACE_HOOKED) + "/stencil", root_ + "/stencil");
  }
  Outcome simulate(const std::string& output, const std::string& options) {
    return run(TERRACE_LAUNCHER " simulate -o " + output + " " + k_caches + options + " -- ./" + k_program);
  }
  double spilled(const std::string& store, const std::string& what) {
    return number(store, "SELECT " + what + " FROM spill ORDER BY position DESC LIMIT 1");
  }
};

TEST_F(OverFile, Replay_OfARecording_EqualsExecution) {
  const std::string here = "--machine ddr5-nvme --memory 24MiB ";
  const auto recorded = simulate("recorded.terrace", here + "--misses app.misses");
  ASSERT_EQ(recorded.status, 0) << recorded.output;
  EXPECT_NE(recorded.output.find("of data in 22MiB of memory: read "), std::string::npos) << recorded.output;
  EXPECT_GT(number("recorded.terrace", "SELECT COUNT(*) FROM spill WHERE iteration IS NOT NULL"), 3);
  EXPECT_GT(spilled("recorded.terrace", "bytes_read"), 0);
  EXPECT_GE(spilled("recorded.terrace", "bytes_read"), spilled("recorded.terrace", "least_read"));
  EXPECT_GE(spilled("recorded.terrace", "bytes_written"), spilled("recorded.terrace", "least_written"));
  const auto replay = [&](const std::string& output, const std::string& options) {
    return run(TERRACE_LAUNCHER " replay app.misses -q -o " + output + " " + k_caches + options);
  };
  ASSERT_EQ(replay("replayed.terrace", here).status, 0);
  EXPECT_EQ(rows("recorded.terrace", k_of_the_verb), rows("replayed.terrace", k_of_the_verb));
  // Another machine, and another memory limit.
  const std::string there = "--machine ddr5-nfs --memory 20MiB ";
  ASSERT_EQ(simulate("e.terrace", there).status, 0);
  ASSERT_EQ(replay("r.terrace", there).status, 0);
  EXPECT_EQ(rows("e.terrace", k_of_both), rows("r.terrace", k_of_both));
  EXPECT_GT(number("r.terrace", "SELECT SUM(ended - begun) FROM main_loop"),
            number("recorded.terrace", "SELECT SUM(ended - begun) FROM main_loop"));
}

// A recording without --memory has other chunks of the same pages. The summary has the same figures.
TEST_F(OverFile, Replay_OtherChunkSize_ReadsTheSameData) {
  ASSERT_EQ(simulate("plain.terrace", "--machine ddr5-nvme --misses app.misses").status, 0);
  EXPECT_EQ(number("plain.terrace", "SELECT COUNT(*) FROM spill"), 0);
  const std::string here = "--machine ddr5-nvme --memory 24MiB ";
  const auto done = simulate("e.terrace", here + "--json");
  ASSERT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("\"file\":\"e.terrace\""), std::string::npos) << done.output;
  const auto read = std::to_string(static_cast<std::int64_t>(spilled("e.terrace", "bytes_read")));
  EXPECT_NE(done.output.find("\"read_bytes\":" + read + ","), std::string::npos) << done.output;
  const auto replayed = run(TERRACE_LAUNCHER " replay app.misses -q -o r.terrace " + std::string(k_caches) + here);
  ASSERT_EQ(replayed.status, 0) << replayed.output;
  for (const auto* what : {"bytes_read", "bytes_written", "most", "least_read", "waited"})
    EXPECT_EQ(spilled("e.terrace", what), spilled("r.terrace", what)) << what;
}

TEST_F(OverFile, Replay_SeveralSizes_PricesThemTogether) {
  const auto done = simulate("c.terrace",
                             "--machine ddr5-nvme --config label=all --config 'label=most memory=28MiB' "
                             "--config 'label=some memory=16MiB'");
  ASSERT_EQ(done.status, 0) << done.output;
  const auto loop = [&](const char* label) {
    return number(std::string("c.") + label + ".terrace", "SELECT SUM(ended - begun) FROM main_loop");
  };
  EXPECT_LT(loop("all"), loop("most"));
  EXPECT_LT(loop("most"), loop("some"));
  EXPECT_GT(spilled("c.some.terrace", "bytes_read"), spilled("c.most.terrace", "bytes_read"));
}

TEST_F(OverFile, Options_Impossible_AreRefusedInOneLine) {
  for (const auto& [options, said] :
       {std::pair{"--machine ddr5-cxl --memory 24MiB", "--memory: ddr5-cxl has no file beside"},
        {"--machine ddr5-nvme --memory 1MiB", "--memory 1MiB: at least 16MiB is needed"},
        {"--machine ddr5-nvme --memory lots", "lots"}}) {
    const auto done = simulate("x.terrace", options);
    EXPECT_EQ(done.status, 2) << done.output;
    EXPECT_NE(done.output.find(said), std::string::npos) << done.output;
    EXPECT_EQ(std::ranges::count(done.output, '\n'), 1) << done.output;
  }
}

}  // namespace
}  // namespace terrace::test
