// Tests idle page tracking on files in the kernel's format, because few kernels are built with it.
#include "observe/pages/idle_bitmap.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

namespace {

using namespace terrace::observe;

class WordFile {
 public:
  WordFile(const char* name, const std::vector<std::uint64_t>& words)
      : path_(std::filesystem::temp_directory_path() / (std::string(name) + "_" + std::to_string(getpid()))) {
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * sizeof(std::uint64_t)));
  }
  ~WordFile() { std::filesystem::remove(path_); }
  WordFile(const WordFile&) = delete;
  WordFile& operator=(const WordFile&) = delete;
  [[nodiscard]] const char* path() const { return path_.c_str(); }
  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::vector<std::uint64_t> words(std::filesystem::file_size(path_) / sizeof(std::uint64_t));
    std::ifstream file(path_, std::ios::binary);
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof(std::uint64_t)));
    return words;
  }

 private:
  std::filesystem::path path_;
};

TEST(IdleBitmap, RandomFrames_ExactlyTheseSetIdle) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint64_t k_frames = 1U << 16U;
    const WordFile file("idle", std::vector<std::uint64_t>(k_frames / 64));
    std::set<std::uint64_t> marked;
    {
      IdleBitmap bitmap(file.path());
      ASSERT_TRUE(bitmap.is_open());
      // Runs of frames, in blocks that are visited once: the kernel does not clear bits that
      // are written 0, a regular file does.
      for (std::uint64_t block = 0; block < k_frames; block += 4096)
        for (auto runs = random() % 5; runs > 0; --runs) {
          const auto first = block + random() % 4000;
          for (auto frame = first; frame < first + random() % 96; ++frame) {
            bitmap.set_idle(frame);
            marked.insert(frame);
          }
        }
      EXPECT_TRUE(bitmap.flush());
    }
    const auto words = file.words();
    IdleBitmap again(file.path());
    for (std::uint64_t frame = 0; frame < k_frames; ++frame) {
      ASSERT_EQ((words[frame / 64] >> frame % 64 & 1) != 0, marked.contains(frame)) << frame;
      if (frame % 7 == 0) {
        ASSERT_EQ(again.is_idle(frame), marked.contains(frame)) << frame;
      }
    }
  }
}

TEST(IdleBitmap, FailedWrite_FlushReturnsFalse) {
  IdleBitmap bitmap("/dev/full");
  bitmap.set_idle(5);
  bitmap.set_idle(50'000);
  bitmap.set_idle(5);
  EXPECT_FALSE(bitmap.flush());
  EXPECT_TRUE(bitmap.flush());
}

TEST(PageFrames, CompoundTail_MapsToHeadFrame) {
  constexpr std::uint64_t k_page = 4096, k_tail = 1U << 16U;
  // Pages 0 and 1 small, 2 absent, 3 to 6 the second half of a compound page of 8 frames, from frame 1000 on.
  const WordFile pagemap("pagemap", {k_page_present | 77, k_page_present | 600, 0, k_page_present | 1004,
                                     k_page_present | 1005, k_page_present | 1006, k_page_present | 1007});
  std::vector<std::uint64_t> flags(2048);
  for (std::uint64_t frame = 1001; frame < 1008; ++frame) flags[frame] = k_tail;
  const WordFile kernel_flags("kpageflags", flags);
  const FramePaths paths{"", pagemap.path(), kernel_flags.path()};
  PageFrames frames(paths);
  ASSERT_TRUE(frames.is_open());
  std::vector<std::uint64_t> found;
  EXPECT_TRUE(frames.for_each({0, 7 * k_page}, k_page, [&](std::uint64_t frame) { found.push_back(frame); }));
  EXPECT_EQ(found, (std::vector<std::uint64_t>{77, 600, 1000, 1000, 1000, 1000}));
}

TEST(PageFrames, HiddenFrameNumbers_ReturnFalse) {
  const WordFile pagemap("pagemap", {k_page_present, k_page_present});
  const WordFile kernel_flags("kpageflags", std::vector<std::uint64_t>(8));
  const FramePaths paths{"", pagemap.path(), kernel_flags.path()};
  PageFrames frames(paths);
  EXPECT_FALSE(frames.for_each({0, 2 * 4096}, 4096, [](std::uint64_t) { FAIL(); }));
}

}  // namespace
