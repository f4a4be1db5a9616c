// The small programs of tests/integration/programs, built with the plain compilers: what they print without
// Terrace is what the tests with Terrace compare with, so it is checked here against sums worked out by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "run_program.hpp"

namespace terrace::test {
namespace {

/// A copy of one program's folder, made there by its own Makefile; removed in the end.
class Copy {
 public:
  explicit Copy(const std::string& name)
      : folder_(std::filesystem::temp_directory_path() / ("programs-" + name + "-" + std::to_string(getpid()))) {
    const std::filesystem::path source = TERRACE_SOURCE_DIR "/tests/integration/programs/" + name;
    std::filesystem::copy(source, folder_, std::filesystem::copy_options::recursive);
    // Without the variables of a make that may have started this test.
    const Outcome made = run_program("env -u MAKEFLAGS -u MAKELEVEL make -s -C '" + folder_.string() + "' 2>&1");
    EXPECT_EQ(made.status, 0) << made.output;
    EXPECT_EQ(made.output, "");
  }
  ~Copy() { std::filesystem::remove_all(folder_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  Outcome run(const std::string& command) const { return run_program((folder_ / command).string()); }

 private:
  std::filesystem::path folder_;
};

// 1 + 2 + ... + n
constexpr long triangle(long n) { return n * (n + 1) / 2; }

TEST(Programs, Heat_Recorded_TotalsAreConsistent) {
  const Copy heat("c");
  const auto expected = [](long steps) {
    const long cells = 1 << 18;
    const long initial = cells * 15 / 2;  // i mod 16, 7.5 on average
    const long temperature = initial + 4 * steps * cells;
    const long history = steps * initial + 4 * triangle(steps) * cells;
    const long boundary = steps * (1 << 17) * 3 / 2;  // i mod 4, 1.5 on average
    return "heat: " + std::to_string(steps) + " steps, checksum " +
           std::to_string(temperature + history + boundary) + "\n";
  };
  for (const long steps : {10L, 3L}) EXPECT_EQ(heat.run("heat " + std::to_string(steps)).output, expected(steps));
  EXPECT_EQ(heat.run("heat").output, expected(10));
}

TEST(Programs, Particles_Recorded_TotalsAreConsistent) {
  const Copy particles("cxx");
  const long count = 1 << 17, steps = 10;
  const long position = 6 * steps * count;
  const long charge = count;                             // 2 and 1 alternately; 1 after an even number of steps
  const long cells = count / 4 * (steps / 2 * (2 + 1));  // every fourth particle leaves its charge
  const long recorded = count / 64 * steps;              // in a trail of at most 5000
  const long overflows = (recorded - 1) / 5000;
  const long trail = (recorded - overflows * 5000) * 6 * steps;  // what is left is all from the last step
  EXPECT_EQ(particles.run("particles").output, "particles: 10 steps, checksum " +
                                                   std::to_string(position + charge + cells + trail + overflows) +
                                                   ", caught 1\n");
}

TEST(Programs, Fields_Recorded_TotalsAreConsistent) {
  const Copy fields("fortran");
  const long n = 131072, steps = 10;
  const long a = n * 7 / 2 + 6 * steps * n;  // i mod 8, 3.5 on average
  const long b = steps * n * 7 / 2 + 6 * triangle(steps) * n;
  const long c = n + steps * n;
  const long counts = steps * n + triangle(steps) * n;
  const long bins = 6 * triangle(steps) * (n / 16);  // i mod 8 is 0 in every sixteenth cell
  EXPECT_EQ(fields.run("fields").output,
            "fields: 10 steps, checksum " + std::to_string(a + b + c + counts + bins) + ".\n");
}

TEST(Programs, Torture_Run_HasItsStatusAndRepeats) {
  const Copy torture("torture");
  const Outcome first = torture.run("torture 2>/dev/null");
  EXPECT_EQ(first.status, 42) << first.output;
  EXPECT_EQ(first.output.find("FAILED"), std::string::npos) << first.output;
  const std::string end = "exit handler registered second\nexit handler registered first\n";
  ASSERT_GE(first.output.size(), end.size());
  EXPECT_EQ(first.output.substr(first.output.size() - end.size()), end);
  EXPECT_EQ(torture.run("torture 2>/dev/null").output, first.output);
}

TEST(Programs, Inside_Libraries_AreFoundInOrder) {
  const Copy inside("inside");
  const Outcome outcome = inside.run("inside");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("FAILED"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace terrace::test
