// Tests the parser of /proc/self/smaps: hand-written and random texts, and the kernel's own.
#include "observe/pages/smaps.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace {

using namespace terrace::observe;

constexpr auto k_unknown = PageWatch::k_unknown;

class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("smaps_" + std::to_string(getpid()))) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  std::vector<std::uint64_t> used(const std::vector<WatchedRange>& ranges, bool& any) const {
    std::vector<std::uint64_t> bytes(ranges.size());
    any = read(ranges, bytes).any;
    return bytes;
  }
  SmapsSummary read(const std::vector<WatchedRange>& ranges, std::vector<std::uint64_t>& bytes) const {
    return read_referenced(path_.c_str(), ranges, bytes);
  }

 private:
  std::filesystem::path path_;
};

TEST(Smaps, Figures_AddedToRangesOfMapping) {
  const TextFile file(
      "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"
      "Size:                 64 kB\nRss:                  64 kB\nReferenced:           16 kB\nVmFlags: rd wr \n"
      "7f0000010000-7f0000020000 r--p 00001000 08:01 77                         /a/Referenced: 4 kB\n"
      "Size:                 64 kB\nReferenced:            0 kB\nAnonymous:            64 kB\n"
      "7f0000030000-7f0000040000 rw-p 00000000 00:00 0                          [anon: Size: 3 kB]\n"
      "Referenced:           64 kB\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\nReferenced: 4 kB\n");
  bool any = false;
  const auto bytes = file.used({{0x7f0000000000, 0x7f0000004000},
                                {0x7f0000004000, 0x7f0000010000},
                                {0x7f0000018000, 0x7f0000034000},
                                {0x7f0000040000, 0x7f0000050000}},
                               any);
  EXPECT_TRUE(any);
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{16384 / 4, 16384 / 4 * 3, 0x4000, k_unknown}));
}

TEST(Smaps, HugePages_CountedUpToLastRange) {
  const TextFile file(
      "10000000-10800000 rw-p 00000000 00:00 0 \nReferenced: 8192 kB\nAnonHugePages:      4096 kB\n"
      "20000000-20400000 rw-p 00000000 00:00 0 \nReferenced: 4096 kB\nAnonHugePages:      9999 kB\n"
      "30000000-30400000 rw-p 00000000 00:00 0 \nReferenced: 4096 kB\nAnonHugePages:      4096 kB\n");
  std::vector<std::uint64_t> bytes(1);
  const std::vector<WatchedRange> ranges = {{0x20000000, 0x20200000}};
  const auto found = file.read(ranges, bytes);
  EXPECT_TRUE(found.any);
  EXPECT_EQ(found.huge, (4U << 20) + (4U << 20));  // no more than a mapping has
  EXPECT_EQ(bytes.front(), 2U << 20);
}

TEST(Smaps, MissingFileOrFigures_AreUnknown) {
  const std::vector<WatchedRange> ranges = {{0x1000, 0x2000}};
  std::vector<std::uint64_t> bytes(1);
  EXPECT_FALSE(read_referenced("/no/such/file", ranges, bytes).any);
  EXPECT_EQ(bytes.front(), k_unknown);
  bool any = true;
  EXPECT_EQ(TextFile("1000-2000 rw-p 00000000 00:00 0\nRss: 4 kB\n").used(ranges, any).front(), k_unknown);
  EXPECT_FALSE(any);
}

// Mappings with random figures, and ranges anywhere: against sums over each page alone.
TEST(Smaps, RandomMappings_EqualSumsByPage) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    constexpr std::uint64_t k_page = 4096, k_all = 400;
    std::ostringstream text;
    std::vector<double> share(k_all, -1);  // of a page's bytes; below 0 where nothing is mapped
    for (std::uint64_t at = random() % 8; at < k_all;) {
      const auto pages = std::min(1 + random() % 40, k_all - at);
      const auto used = random() % (pages + 1);
      text << std::hex << at * k_page << '-' << (at + pages) * k_page << " rw-p 00000000 00:00 0\n" << std::dec;
      if (random() % 2 == 0) text << "Size:  " << 4 * pages << " kB\n";
      text << "Referenced:" << std::string(random() % 9, ' ') << 4 * used << " kB\n";
      for (auto page = at; page < at + pages; ++page)
        share[page] = static_cast<double>(used) / static_cast<double>(pages);
      at += pages + (random() % 3 == 0 ? random() % 20 : 0);
    }
    std::vector<WatchedRange> ranges;
    for (std::uint64_t at = random() % 8; at < k_all;) {
      const auto high = std::min(at + 1 + random() % 60, k_all);
      ranges.push_back({at * k_page, high * k_page});
      at = high + (random() % 2 == 0 ? random() % 12 : 0);
    }
    bool any = false;
    const auto bytes = TextFile(text.str()).used(ranges, any);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      double expected = 0;
      bool mapped = false;
      for (auto page = ranges[i].low / k_page; page < ranges[i].high / k_page; ++page) {
        if (share[page] < 0) continue;
        mapped = true;
        expected += share[page] * k_page;
      }
      ASSERT_EQ(bytes[i] != k_unknown, mapped);
      // Rounded down for each mapping.
      if (mapped) {
        ASSERT_NEAR(static_cast<double>(bytes[i]), expected, 60);
      }
    }
  }
}

TEST(Smaps, ArbitraryText_IsAccepted) {
  std::mt19937_64 random(5);
  const std::string pieces[] = {"7f00-8f00",
                                "Referenced:",
                                " 12 kB",
                                "99999999999999999999999",
                                "\n",
                                "-",
                                "f",
                                "rw-p",
                                " ",
                                "Size:",
                                "0",
                                std::string(300, 'a'),
                                "8000000000000000-"};
  const std::vector<WatchedRange> ranges = {{0x1000, 0x9000}, {0x9000, 0x8000000000000000}};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (auto n = random() % 30; n > 0; --n)
      text +=
          random() % 5 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % std::size(pieces)];
    SmapsParser lines;
    std::vector<std::uint64_t> bytes(ranges.size(), k_unknown);
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (!lines.parse_line(line.c_str())) continue;
      const auto& mapping = lines.mapping();
      ASSERT_LT(mapping.low, mapping.high);
      ASSERT_LE(mapping.bytes, mapping.high - mapping.low);
      std::size_t first = 0;
      std::fill(bytes.begin(), bytes.end(), k_unknown);
      add_referenced(mapping, ranges, bytes, first);
      for (std::size_t i = 0; i < ranges.size(); ++i)
        ASSERT_TRUE(bytes[i] == k_unknown || bytes[i] <= ranges[i].high - ranges[i].low);
    }
  }
}

TEST(Smaps, RealSmaps_HasEveryMapping) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  auto* const map = static_cast<char*>(
      mmap(nullptr, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  const auto low = reinterpret_cast<std::uint64_t>(map);
  const std::vector<WatchedRange> ranges = {{low, low + 8 * page}};
  std::vector<std::uint64_t> bytes(1);
  EXPECT_TRUE(read_referenced("/proc/self/smaps", ranges, bytes).any);
  EXPECT_NE(bytes.front(), k_unknown);
  munmap(map, 8 * page);
}

}  // namespace
