// Tests the closing line on out-of-core memory.
#include <gtest/gtest.h>

#include <string>

#include "cli/spill_summary.hpp"

namespace terrace::cli {
namespace {

constexpr std::uint64_t k_second = 1'000'000'000;

std::string line_of(const SpilledProcess& process) {
  runtime::SpillSpec spec;
  spec.memory = Bytes{256 << 20};
  spec.folder = "/disk";
  const auto lines = format_spill_lines({process}, spec, Bytes{256 << 20});
  return lines.size() == 1 ? lines[0] : std::to_string(lines.size()) + " lines";
}

SpilledProcess with_waits(std::uint64_t waited, std::uint64_t measured) {
  SpilledProcess process;
  process.most = 512 << 20;
  process.read = process.written = 1 << 20;
  process.waited = waited;
  process.measured = measured;
  process.predicted = measured;
  return process;
}

TEST(SpillLines, PredictionOfMostWaits_IsReported) {
  EXPECT_NE(
      line_of(with_waits(2 * k_second, 3 * k_second)).find("waited 2 s; 3 s of the run were predicted as 3 s"),
      std::string::npos);
}

// Next to unpredicted waits it would be read as a prediction of all of them.
TEST(SpillLines, PredictionOfFewWaits_IsOmitted) {
  EXPECT_EQ(line_of(with_waits(20 * k_second, k_second)).find("predicted"), std::string::npos);
  EXPECT_EQ(line_of(with_waits(2 * k_second, 0)).find("predicted"), std::string::npos);
}

TEST(SpillLines, WaitsForKernelPaging_AreIncluded) {
  auto process = with_waits(k_second, 0);
  process.given = 80 << 20;
  process.paged_waited = 38 * k_second;
  EXPECT_NE(line_of(process).find("threads waited 39 s; blocks of 80MiB were handed over to kernel paging (not "
                                  "counted), 38 s of the waits"),
            std::string::npos)
      << line_of(process);
  EXPECT_DOUBLE_EQ(process.longer().value, 39);
}

TEST(SpillLines, ProcessPagedByTheKernel_ReportsWaits) {
  SpilledProcess process;
  process.most = 80 << 20;
  process.paged = true;
  process.paged_waited = 3 * k_second;
  EXPECT_NE(line_of(process).find("paged by the kernel; threads waited 3 s"), std::string::npos)
      << line_of(process);
}

}  // namespace
}  // namespace terrace::cli
