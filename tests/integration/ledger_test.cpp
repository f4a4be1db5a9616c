// Tests the user's view of a job's ledger: the program of the job is a shell, which inspects the launcher's files,
// `terrace machine` and the gauges during the run.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

namespace fs = std::filesystem;

class JobLedger : public ::testing::Test {
 protected:
  void SetUp() override {
    auto name = (fs::temp_directory_path() / "job-ledger-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    ::setenv("XDG_RUNTIME_DIR", name.c_str(), 1);
    for (const char* variable : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PMIX_NAMESPACE", "PMI_JOBID"})
      ::unsetenv(variable);
  }
  void TearDown() override { fs::remove_all(root_); }

  // Runs the shell's commands as the program of a job.
  [[nodiscard]] Outcome run(const std::string& commands, const std::string& options = "") const {
    return run_program("cd '" + root_.string() +
                       "' && timeout 600 " TERRACE_LAUNCHER " run -q -o profile.terrace " + options +
                       " -- sh -c '" + commands + "'");
  }
  [[nodiscard]] std::size_t ledgers() const {
    std::size_t count = 0;
    if (fs::exists(root_ / "terrace"))
      for ([[maybe_unused]] const auto& entry : fs::directory_iterator(root_ / "terrace")) ++count;
    return count;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(root_ / name).rdbuf();
    return text.str();
  }

  fs::path root_;
};

TEST_F(JobLedger, Ledger_WhileTheJobRuns_Exists) {
  const auto outcome = run("stat -c \"%a %s\" terrace/*.ledger; stat -c %a terrace; ls terrace");
  EXPECT_EQ(outcome.status, 0);
  std::istringstream words(outcome.output);
  std::string mode, size, folder_mode, name;
  words >> mode >> size >> folder_mode >> name;
  EXPECT_EQ(mode, "600");
  EXPECT_EQ(folder_mode, "700");
  EXPECT_TRUE(name.ends_with(".ledger")) << name;
  EXPECT_EQ(ledgers(), 0u);
}

TEST_F(JobLedger, Ledger_UnderABatchSystem_HasItsJobId) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  EXPECT_EQ(run("ls terrace").output, "4711.ledger\n");
  ::unsetenv("SLURM_JOB_ID");
  ::setenv("PMIX_NAMESPACE", "prterun-host-12@1", 1);
  EXPECT_EQ(run("ls terrace").output, "prterun-host-12_1.ledger\n");
}

TEST_F(JobLedger, Ledger_ProgramKilled_IsRemoved) {
  EXPECT_EQ(run("kill -9 $$").status, 128 + 9);
  EXPECT_EQ(ledgers(), 0u);
}

TEST_F(JobLedger, Ledger_LauncherKilled_IsRemovedByTheNext) {
  EXPECT_NE(run("kill -9 $PPID").status, 0);
  EXPECT_EQ(run("ls terrace | wc -l").output, "1\n");
  EXPECT_EQ(ledgers(), 0u);
}

TEST_F(JobLedger, Ledger_SeveralLaunchersOfAJob_IsShared) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  const auto inner =
      std::string(TERRACE_LAUNCHER " run -q -o inner.terrace -- sh -c \"ls terrace; exec " TERRACE_LAUNCHER
                                   " machine --json\"");
  const auto outcome = run(inner + "; ls terrace");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.output.starts_with("4711.ledger\n{")) << outcome.output;
  EXPECT_TRUE(outcome.output.ends_with("}\n4711.ledger\n")) << "the inner launcher left it to the outer one";
  EXPECT_NE(outcome.output.find("\"job\": \"4711\""), std::string::npos);
  EXPECT_EQ(ledgers(), 0u);
}

TEST_F(JobLedger, MachineCommand_DuringAJob_ShowsTheLedger) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  const auto shown = run("echo $$; " TERRACE_LAUNCHER " machine; true");
  EXPECT_NE(shown.output.find("\njob 4711\n"), std::string::npos) << shown.output;
  const auto process = shown.output.substr(0, shown.output.find('\n'));
  EXPECT_NE(shown.output.find("\n  " + process + " "), std::string::npos) << shown.output;
  const auto json = run(TERRACE_LAUNCHER " machine --json; true").output;
  for (const char* key :
       {"\"jobs\"", "\"job\": \"4711\"", "\"held\"", "\"outstanding\"", "\"share\"", "\"budget\""})
    EXPECT_NE(json.find(key), std::string::npos) << key;
  // Jobs of other tests may be present.
  const auto later = run_program(TERRACE_LAUNCHER " machine --json").output;
  EXPECT_NE(later.find("\"jobs\""), std::string::npos);
  EXPECT_EQ(later.find("\"job\": \"4711\""), std::string::npos);
}

TEST_F(JobLedger, Gauges_WhileTheJobRuns_ContainTheLedger) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  EXPECT_EQ(run("cp job.prom seen", "--gauges job.prom").status, 0);
  EXPECT_FALSE(fs::exists(root_ / "job.prom"));
  const auto seen = read("seen");
  EXPECT_NE(seen.find("# TYPE terrace_ledger_held_bytes gauge\n"), std::string::npos) << seen;
  EXPECT_NE(seen.find("\nterrace_ledger_budget_bytes{job=\"4711\",place=\""), std::string::npos) << seen;
}

TEST_F(JobLedger, Gauges_NotWritable_AreAnError) {
  EXPECT_EQ(run("true", "--gauges nowhere/job.prom").status, 2);
  EXPECT_EQ(ledgers(), 0u);
}

}  // namespace
}  // namespace terrace::test
