// Tests reading and writing of small files.
#include "core/small_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace terrace {
namespace {

TEST(SmallFile, Read_FillsAtMostTheBuffer) {
  const std::string path = testing::TempDir() + "/small-" + std::to_string(getpid());
  std::ofstream(path) << "0123456789";
  std::array<char, 8> little;
  little.fill('x');
  EXPECT_TRUE(read_small_file(path.c_str(), little.data(), little.size()));
  EXPECT_STREQ(little.data(), "0123456");
  std::array<char, 64> enough;
  enough.fill('x');
  EXPECT_TRUE(read_small_file(path.c_str(), enough.data(), enough.size()));
  EXPECT_STREQ(enough.data(), "0123456789");
  unlink(path.c_str());
}

TEST(SmallFile, Read_MissingFile_IsEmpty) {
  std::array<char, 8> text;
  for (const char* path : {"/dev/null", "/proc/self/none", "/proc/self"}) {
    text.fill('x');
    EXPECT_FALSE(read_small_file(path, text.data(), text.size())) << path;
    EXPECT_STREQ(text.data(), "") << path;
  }
}

TEST(SmallFile, Read_ProcFile) {
  std::array<char, 128> text;
  ASSERT_TRUE(read_small_file("/proc/self/stat", text.data(), text.size()));
  EXPECT_EQ(std::strtol(text.data(), nullptr, 10), getpid());
}

}  // namespace
}  // namespace terrace
