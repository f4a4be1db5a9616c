// Tests Terrace's own threads in a process: none before there is data for them, and how the process ends with
// them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "program_fixture.hpp"

namespace terrace::test {
namespace {

// All kinds of runs that manage data on the real machine.
class OwnThreads : public ProgramTest, public testing::WithParamInterface<const char*> {
 protected:
  OwnThreads() : ProgramTest("own-threads") {}
  void SetUp() override {
    std::filesystem::permissions(disk_, std::filesystem::perms::all);
    std::filesystem::permissions(root_, std::filesystem::perms::all);
  }
  [[nodiscard]] std::string options() const {
    const std::string kind = GetParam();
    if (kind == "memory") return "--memory 64MiB --spill " + disk_;
    return kind == "intent" ? "--intent capacity" : "-o profile.terrace";
  }
  [[nodiscard]] Outcome managed(const std::string& command) const {
    return run("timeout -s KILL 60 " TERRACE_LAUNCHER " run " + options() + " -- " + command);
  }
  // Compares so many runs with one without Terrace.
  void expect_as_alone(const std::string& command, int times = 1) const {
    const auto alone = run(command);
    EXPECT_EQ(alone.status, 0) << alone.output;
    for (int i = 0; i < times; ++i) {
      const auto done = managed(command);
      EXPECT_EQ(done.status, 0) << done.output;
      EXPECT_NE(done.output.find(alone.output), std::string::npos) << done.output;
    }
  }
  const DiskFolder folder_;
  const std::string& disk_ = folder_.path();
};

INSTANTIATE_TEST_SUITE_P(Kinds, OwnThreads, testing::Values("plain", "intent", "memory"),
                         [](const auto& kind) { return kind.param; });

TEST_P(OwnThreads, Process_WithoutLargeBlocks_HasNoOwnThreads) {
  const auto done = managed(TERRACE_OWN_THREADS " count");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("threads 1\n"), std::string::npos) << done.output;
}

TEST_P(OwnThreads, LargeBlock_Late_StartsThem) {
  const auto done = managed(TERRACE_OWN_THREADS " late");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("threads 1\nsum 16384\n"), std::string::npos) << done.output;
}

TEST_P(OwnThreads, LargeBlocks_Concurrent_StartThemOnce) { expect_as_alone(TERRACE_OWN_THREADS " together", 10); }

// Symbols cannot be resolved meanwhile.
TEST_P(OwnThreads, LargeBlock_InALibraryConstructor_StartsThem) {
  expect_as_alone(TERRACE_OWN_THREADS " load " TERRACE_EARLY_LIBRARY);
}

TEST_P(OwnThreads, Fork_DuringTheirStart_Works) { expect_as_alone(TERRACE_OWN_THREADS " fork", 5); }

TEST_P(OwnThreads, LateStart_ByABoundThread_IsNotBound) {
  const auto done = managed(TERRACE_OWN_THREADS " bound");
  EXPECT_EQ(done.output.find("cores 1\n") != std::string::npos, std::thread::hardware_concurrency() == 1)
      << done.output;
}

// Address space that would be lacking for the program is not reserved, which is reported.
TEST_P(OwnThreads, AddressSpaceLimit_Tight_IsLeftToTheProgram) {
  const std::string limit = "ulimit -v 400000";
  EXPECT_EQ(run("sh -c '" + limit + "; " TERRACE_OWN_THREADS " large'").output, "sum 65536\n");
  const auto done =
      run("sh -c '" + limit + "; " TERRACE_LAUNCHER " run " + options() + " -- " TERRACE_OWN_THREADS " large'");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("sum 65536\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("address space is limited (ulimit -v 400000)"), std::string::npos) << done.output;
}

TEST_P(OwnThreads, AddressSpaceLimit_Sufficient_IsUsed) {
  const auto done = run("sh -c 'ulimit -v 8000000; " TERRACE_LAUNCHER " run " + options() +
                        " -- " TERRACE_OWN_THREADS " large'");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("sum 65536\n"), std::string::npos) << done.output;
  EXPECT_EQ(done.output.find("address space is limited"), std::string::npos) << done.output;
}

// The process ends with the program's last thread, not with one of Terrace's.
TEST_P(OwnThreads, MainThread_EndsFirst_ProcessEndsWithTheLast) {
  expect_as_alone(TERRACE_MAIN_LEAVES " exit");
  expect_as_alone(TERRACE_MAIN_LEAVES " cancelled");
  expect_as_alone(TERRACE_MAIN_LEAVES " later");
}

TEST_P(OwnThreads, MainThread_EndsBySystemCall_ProcessEndsWithTheLast) {
  expect_as_alone(TERRACE_MAIN_LEAVES " call");
}

TEST_P(OwnThreads, Signal_AfterTheMainThreadEnded_EndsTheProcess) {
  const std::string command =
      "sh -c 'rm -f told; " TERRACE_MAIN_LEAVES
      " signal > told & until grep -qs worker told; do sleep 0.1; done; kill -TERM $!; wait $!; echo status $?'";
  for (const auto& outcome : {run(command), managed(command)})
    EXPECT_NE(outcome.output.find("status 143\n"), std::string::npos) << outcome.output;
}

// The C library makes every thread of a process drop privileges, and aborts if one cannot.
TEST_P(OwnThreads, Program_DroppingPrivileges_Works) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const auto done = managed("setpriv --reuid=65534 --regid=65534 --clear-groups /bin/echo as before");
  EXPECT_EQ(done.status, 0) << done.output;
  EXPECT_NE(done.output.find("as before\n"), std::string::npos) << done.output;
}

// The kernel refuses it to multithreaded processes.
TEST_P(OwnThreads, Program_InAUserNamespace_Works) {
  if (run("unshare -U true").status != 0) GTEST_SKIP() << "the system does not permit user namespaces";
  const auto done = managed("unshare -U true");
  EXPECT_EQ(done.status, 0) << done.output;
}

}  // namespace
}  // namespace terrace::test
