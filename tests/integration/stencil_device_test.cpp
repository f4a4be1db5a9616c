// Tests stencil programs on a GPU: results equal the processor's to the last digit, with field data that fits and
// with data several times larger than the permitted GPU memory. Without a GPU: that they are built, and report
// it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

using nlohmann::json;

Outcome on_gpu(const std::string& options, const std::string& words) {
  return run_program("TERRACE_STENCIL=executor=gpu," + options + ' ' + TERRACE_STENCILS_GPU + ' ' + words +
                     " 2>&1");
}

// Returns the message without a GPU; empty with one.
const std::string& no_gpu() {
  static const std::string said = [] {
    const auto outcome = on_gpu("memory=128MiB", "jacobi cells=16 iterations=1");
    return outcome.status == 0 ? std::string() : outcome.output;
  }();
  return said;
}

struct Run {
  std::string name;
  std::string memory;
  std::string words;  // program and arguments
  bool is_streamed;
};

void PrintTo(const Run& run, std::ostream* out) { *out << run.name; }

class OnGpu : public testing::TestWithParam<Run> {};

TEST_P(OnGpu, Results_OnTheGpu_EqualTheProcessors) {
  if (!no_gpu().empty()) GTEST_SKIP() << no_gpu();
  const auto plain =
      run_program(std::string("TERRACE_STENCIL=executor=parallel ") + TERRACE_STENCILS + ' ' + GetParam().words);
  ASSERT_EQ(plain.status, 0) << plain.output;
  const auto outcome = on_gpu("memory=" + GetParam().memory, GetParam().words);
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  const auto found = json::parse(outcome.output, nullptr, false);
  ASSERT_TRUE(found.contains("results")) << outcome.output;
  EXPECT_EQ(found["results"], json::parse(plain.output)["results"]);
  EXPECT_EQ(found["bytes_in"].get<double>() + found["bytes_out"].get<double>() > 0, GetParam().is_streamed);
}

INSTANTIATE_TEST_SUITE_P(Programs, OnGpu,
                         testing::Values(Run{"heat_2d", "128MiB", "heat cells=600 steps=30", false},
                                         Run{"heat_3d", "128MiB", "heat dims=3 cells=300 steps=24 chain=6", true},
                                         Run{"jacobi", "128MiB", "jacobi cells=5000 iterations=20", true},
                                         Run{"clover", "1GiB", "cloverleaf2d problem=tp1", false},
                                         Run{"clover_streamed", "512MiB",
                                             "cloverleaf2d problem=tp1 cells=480x12000 steps=3", true}),
                         [](const auto& of) { return of.param.name; });

TEST(Gpu, Programs_ForTheGpu_AreBuilt) {
  const auto listed = run_program(TERRACE_STENCILS_GPU);
  EXPECT_EQ(listed.status, 0);
  for (const auto* name : {"cloverleaf2d", "heat", "jacobi"})
    EXPECT_NE(listed.output.find(name), std::string::npos) << listed.output;
  // Their kernels exist for the device only.
  const auto outcome = run_program(std::string("TERRACE_STENCIL=executor=serial ") + TERRACE_STENCILS_GPU +
                                   " jacobi cells=16 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output,
            "terrace-stencils: loop 'start' was compiled for a GPU only: run it with executor=gpu, or compile the "
            "program without nvcc\n");
}

TEST(Gpu, Run_WithoutGpu_FailsWithOneLine) {
  if (no_gpu().empty()) GTEST_SKIP() << "there is one";
  EXPECT_TRUE(no_gpu().starts_with("terrace-stencils: executor=gpu needs a GPU")) << no_gpu();
  EXPECT_EQ(no_gpu().find('\n'), no_gpu().size() - 1);
}

// As built for other machines, too.
TEST(Gpu, Run_ProcessorBuild_SaysHowToCompile) {
  if (!no_gpu().empty()) GTEST_SKIP() << no_gpu();
  const auto outcome = run_program(std::string("TERRACE_STENCIL=executor=gpu,memory=128MiB ") + TERRACE_STENCILS +
                                   " jacobi cells=16 2>&1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("has no kernel for a GPU: mark it with TERRACE_STENCIL_KERNEL"),
            std::string::npos);
}

}  // namespace
}  // namespace terrace::test
