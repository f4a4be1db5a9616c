// Tests the processor time taken by other programs, from two readings of /proc/stat.
#include "machine/measure/other_load.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace terrace::machine {
namespace {

// In the format of Linux 6: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice.
constexpr const char* k_before =
    "cpu  3000 100 400 9000 50 0 30 20 0 0\n"
    "cpu0 1000 100 200 4000 20 0 20 10 0 0\n"
    "cpu10 2000 0 200 5000 30 0 10 10 0 0\n"
    "intr 4166661 0 0\n"
    "ctxt 3\n";
constexpr const char* k_after =
    "cpu  4500 300 600 9000 50 0 30 120 0 0\n"
    "cpu0 1500 300 300 4000 20 0 20 110 0 0\n"
    "cpu10 3000 0 300 5000 30 0 10 10 0 0\n"
    "cpu11 500 0 0 0 0 0 0 0 0 0\n";

TEST(ProcessorTimes, ProcStat_GivesBusyAndStolenSeconds) {
  const auto times = parse_processor_times(k_before, 100);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times.at(0).busy, 13.2);
  EXPECT_DOUBLE_EQ(times.at(0).stolen, 0.1);
  EXPECT_DOUBLE_EQ(times.at(10).busy, 22.1);
}

TEST(ProcessorTimes, OldOrUnreadableText_GivesWhatItHas) {
  EXPECT_TRUE(parse_processor_times("", 100).empty());
  EXPECT_TRUE(parse_processor_times("cpu0 1 2\ncpu 1 2 3 4 5 6 7\ncpux 1 2 3 4 5 6 7\n", 100).empty());
  const auto times = parse_processor_times("cpu3 100 0 0 0 0 0 0\n", 100);  // without steal time
  EXPECT_DOUBLE_EQ(times.at(3).busy, 1);
  EXPECT_DOUBLE_EQ(times.at(3).stolen, 0);
}

// In 10 s processor 0 was busy for 8 s, processor 10 for 11; this process took 6, of which 0.5 s unpinned.
TEST(TakenProcessors, OwnTime_IsNotOthers) {
  const auto before = parse_processor_times(k_before, 100);
  const auto after = parse_processor_times(k_after, 100);
  const auto taken = taken_processors(before, after, 10, std::vector{0}, 6, 0.5);
  EXPECT_DOUBLE_EQ(taken.all, 1.3);
  EXPECT_DOUBLE_EQ(taken.beyond, 1.05);
  EXPECT_DOUBLE_EQ(taken.stolen, 0.1);
  const auto alone = taken_processors(before, after, 10, std::vector{0, 10}, 30, 0.5);
  EXPECT_EQ(alone.all, 0);
  EXPECT_EQ(alone.beyond, 0);
}

}  // namespace
}  // namespace terrace::machine
