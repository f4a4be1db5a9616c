// Files that are there whole or not at all; devices and links stay what they are.
#include "core/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace terrace {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class WholeFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::path(::testing::TempDir()) / ("whole" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(WholeFile, ReplacesAFileAndLeavesNothingBeside) {
  EXPECT_EQ(write_whole_file(folder / "one", "first, and longer"), "");
  EXPECT_EQ(write_whole_file(folder / "one", "second"), "");
  EXPECT_EQ(content(folder / "one"), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(WholeFile, WritesThroughALink) {
  std::ofstream(folder / "target") << "old";
  fs::create_symlink("target", folder / "link");
  EXPECT_EQ(write_whole_file(folder / "link", "new"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "target"), "new");
}

TEST_F(WholeFile, WritesIntoWhatIsNoFile) {
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ifstream reader;
  std::thread read([&] { reader.open(pipe); });
  EXPECT_EQ(write_whole_file(pipe, "through"), "");
  read.join();
  std::string word;
  reader >> word;
  EXPECT_EQ(word, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(WholeFile, SaysWhyItFailed) {
  EXPECT_EQ(write_whole_file("/dev/full", "x"), "No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(write_whole_file(folder / "none" / "one", "x"), "No such file or directory");
}

}  // namespace
}  // namespace terrace
