// SPDX-License-Identifier: Apache-2.0
// Tests the loops around call sites in this very program, whose functions have loops of known nesting: each call
// records its return address, and the loops are looked up in the program's file and in a stripped copy.
#include "observe/symbols/files/function_loops.hpp"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace terrace::observe {
namespace {

std::map<int, std::uint64_t> g_sites;  // return addresses by the call's number

[[gnu::noinline, gnu::noipa]] void call(int number) {
  g_sites[number] = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}

// A time loop with output in some steps, an inner loop, and calls before and after.
[[gnu::noinline, gnu::noipa]] void run_steps(int steps, int inner) {
  call(0);
  for (int step = 0; step < steps; ++step) {
    call(1);
    if (step % 3 == 2) call(2);
    for (int i = 0; i < inner; ++i) {
      call(3);
      if (i > 5) continue;
      call(4);
    }
    call(5);
  }
  call(6);
}

[[gnu::noinline, gnu::noipa]] void run_until(int left, int rounds) {
  while (true) {
    call(10);
    if (--left == 0) break;
    call(11);
  }
  do {
    call(12);
  } while (--rounds > 0);
}

// Returns the load address of the program: addresses of its file are relative to it.
std::uint64_t bias() {
  std::uint64_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
        return 1;  // the program comes first
      },
      &address);
  return address;
}

std::vector<CodeLoop> loops_of(FunctionLoops& file, int number) {
  return file.around(g_sites.at(number) - 1 - bias());
}

std::string own_file() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void expect_known_loops(const std::string& path) {
  FunctionLoops file(path);
  run_steps(4, 8);
  run_until(3, 3);
  EXPECT_TRUE(loops_of(file, 0).empty());
  EXPECT_TRUE(loops_of(file, 6).empty());
  const auto steps = loops_of(file, 1);
  ASSERT_EQ(steps.size(), 1U);
  for (const int number : {2, 5}) {
    const auto loops = loops_of(file, number);
    ASSERT_EQ(loops.size(), 1U) << number;
    EXPECT_EQ(loops.front().head, steps.front().head) << number;
  }
  for (const int number : {3, 4}) {
    const auto loops = loops_of(file, number);
    ASSERT_EQ(loops.size(), 2U) << number;
    EXPECT_EQ(loops.front().head, steps.front().head) << "outermost first";
    EXPECT_NE(loops.back().head, steps.front().head);
    EXPECT_NE(loops.back().back, 0U);
  }
  const auto endless = loops_of(file, 10);
  ASSERT_EQ(endless.size(), 1U);
  EXPECT_EQ(loops_of(file, 11).at(0).head, endless.front().head);
  ASSERT_EQ(loops_of(file, 12).size(), 1U);
  EXPECT_NE(loops_of(file, 12).front().head, endless.front().head);
}

TEST(FunctionLoops, CallSitesOfThisProgram_HaveTheirLoops) { expect_known_loops(own_file()); }

TEST(FunctionLoops, StrippedFile_HasTheSameLoops) {
  const auto copy = std::filesystem::temp_directory_path() / ("stripped-" + std::to_string(getpid()));
  ASSERT_EQ(std::system(("strip -o " + copy.string() + " " + own_file()).c_str()), 0);
  expect_known_loops(copy.string());
  std::filesystem::remove(copy);
}

TEST(FunctionLoops, OtherFiles_HaveNone) {
  EXPECT_TRUE(FunctionLoops("/nowhere").around(0x1000).empty());
  EXPECT_TRUE(FunctionLoops("/proc/self/maps").around(0x1000).empty());
  FunctionLoops file(own_file());
  EXPECT_TRUE(file.around(0).empty());
  EXPECT_TRUE(file.around(~std::uint64_t{0}).empty());
}

}  // namespace
}  // namespace terrace::observe
