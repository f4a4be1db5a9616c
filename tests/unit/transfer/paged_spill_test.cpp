// Tests of out-of-core memory by kernel paging: content against a shadow copy, the limit, and children of fork.
#include "transfer/spill/paged_spill.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

std::string g_told;

std::uint64_t resident_bytes() {
  std::uint64_t all = 0;
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return pages * k_page;
}

class PagedSpillTest : public testing::Test {
 protected:
  static constexpr std::uint64_t k_chunks = 256;
  void SetUp() override {
    g_told.clear();
    make(Bytes{resident_bytes() + (std::uint64_t{64} << 20)});
  }
  void make(Bytes memory) {
    engine_.reset();
    if (base_) munmap(base_, k_chunks * k_chunk);
    base_ = static_cast<char*>(mmap(nullptr, k_chunks * k_chunk, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    SpillEngine::Parts parts;
    parts.base = reinterpret_cast<std::uint64_t>(base_);
    parts.size = k_chunks * k_chunk;
    parts.memory = memory;
    parts.folder = "/var/tmp";
    parts.counts = &counts_;
    parts.say = [](const char* sentence) { g_told += sentence; };
    parts.paged = true;
    engine_ = make_spill(parts);
  }
  void TearDown() override {
    engine_.reset();
    munmap(base_, k_chunks * k_chunk);
  }
  [[nodiscard]] std::uint64_t at(std::uint64_t chunk) const {
    return reinterpret_cast<std::uint64_t>(base_) + chunk * k_chunk;
  }
  // Accesses one word of each page.
  [[nodiscard]] std::uint64_t& word(std::uint64_t chunk, std::uint64_t page) const {
    return *reinterpret_cast<std::uint64_t*>(base_ + chunk * k_chunk + page * k_page);
  }
  // Evaluates a condition on its memory in a child.
  template <class Holds>
  bool in_child(Holds&& holds) {
    engine_->before_fork({});
    const auto child = fork();
    if (child == 0) {
      engine_->in_child();
      _exit(holds() ? 0 : 1);
    }
    engine_->after_fork();
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
  }

  SpillCounts counts_{};
  char* base_ = nullptr;
  std::unique_ptr<SpillEngine> engine_;
};

TEST_F(PagedSpillTest, WrittenData_IsReadBackWithinTheLimit) {
  engine_->reserve(at(0), k_chunks * k_chunk);
  for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
    for (std::uint64_t page = 0; page < k_chunk / k_page; ++page) word(chunk, page) = chunk * 1000 + page + 1;
  const auto limit = counts_.limit.load();
  const auto end = std::chrono::steady_clock::now() + k_deadline;
  while (resident_bytes() > limit && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (k_knows_memory) {
    EXPECT_LE(resident_bytes(), limit) << "256 chunks are 512 MiB";
  }
  std::uint64_t wrong = 0;
  for (std::uint64_t chunk = 0; chunk < k_chunks; ++chunk)
    for (std::uint64_t page = 0; page < k_chunk / k_page; ++page)
      wrong += word(chunk, page) != chunk * 1000 + page + 1;
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(counts_.max_content, k_chunks * k_chunk);
  EXPECT_EQ(counts_.max_kernel_paged, k_chunks * k_chunk);
}

// Allocates, writes, discards and releases blocks at random; children check all content.
TEST_F(PagedSpillTest, RandomOperations_EqualShadow) {
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> blocks;  // chunk, count
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> shadow;
  const auto wrong = [&] {
    std::uint64_t count = 0;
    for (const auto& [first, size] : blocks)
      for (auto chunk = first; chunk < first + size; ++chunk)
        for (std::uint64_t page = 0; page < 512; page += 37) {
          const auto found = shadow.find({chunk, page});
          count += word(chunk, page) != (found == shadow.end() ? 0 : found->second);
        }
    return count;
  };
  const auto forget = [&](std::uint64_t first, std::uint64_t count) {
    shadow.erase(shadow.lower_bound({first, 0}), shadow.lower_bound({first + count, 0}));
  };
  int children = 0;
  for (int step = 0; step < 3000; ++step) {
    const auto what = random() % 40;
    if (what < 6) {
      const auto first = random() % k_chunks;
      const auto next = blocks.lower_bound(first);
      const auto room = (next == blocks.end() ? k_chunks : next->first) - first;
      const bool taken = next != blocks.begin() && std::prev(next)->first + std::prev(next)->second > first;
      if (taken || room == 0) continue;
      const auto count = 1 + random() % std::min<std::uint64_t>(room, 8);
      engine_->reserve(at(first), count * k_chunk);
      blocks[first] = count;
    } else if (blocks.empty()) {
      continue;
    } else {
      auto block = std::next(blocks.begin(), static_cast<long>(random() % blocks.size()));
      const auto [first, count] = *block;
      if (what < 9) {
        engine_->release(at(first), count * k_chunk);
        forget(first, count);
        blocks.erase(block);
      } else if (what < 12) {
        const auto part = random() % count;
        engine_->discard(at(first + part), (count - part) * k_chunk);
        forget(first + part, count - part);
      } else if (what == 12) {
        engine_->unmanage(at(first), k_chunk);
      } else if (what == 13 && step % 8 == 0) {
        ++children;
        ASSERT_TRUE(in_child([&] {
          const bool fine = wrong() == 0;
          word(first, 0) = 99;
          return fine;
        })) << "step "
            << step;
      } else {
        for (int i = 0; i < 20; ++i) {
          const auto chunk = first + random() % count;
          const auto page = random() % 14 * 37;
          word(chunk, page) = shadow[{chunk, page}] = random() | 1;
        }
      }
    }
    if (step % 50 == 0) {
      ASSERT_EQ(wrong(), 0U) << "step " << step;
    }
  }
  EXPECT_EQ(wrong(), 0U);
  EXPECT_GT(children, 3);
}

// A child has the snapshot of its start, whatever its parent does later, and the parent sees none of the child's
// writes.
TEST_F(PagedSpillTest, Fork_ParentAndChildAreIndependent) {
  engine_->reserve(at(0), 32 * k_chunk);
  for (std::uint64_t chunk = 0; chunk < 32; ++chunk) word(chunk, 3) = chunk + 1;
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  engine_->before_fork({});
  const auto child = fork();
  if (child == 0) {
    engine_->in_child();
    char byte = 0;
    word(7, 3) = 1000;
    if (read(go[0], &byte, 1) != 1) _exit(2);
    for (std::uint64_t chunk = 0; chunk < 32; ++chunk)
      if (word(chunk, 3) != (chunk == 7 ? 1000 : chunk + 1)) _exit(1);
    _exit(0);
  }
  engine_->after_fork();
  for (std::uint64_t chunk = 0; chunk < 16; ++chunk) word(chunk, 3) = 5;
  engine_->release(at(16), 16 * k_chunk);
  engine_->reserve(at(16), 16 * k_chunk);
  for (std::uint64_t chunk = 16; chunk < 32; ++chunk) {
    EXPECT_EQ(word(chunk, 3), 0U);
    word(chunk, 3) = 6;
  }
  ASSERT_EQ(write(go[1], "x", 1), 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (std::uint64_t chunk = 0; chunk < 32; ++chunk) EXPECT_EQ(word(chunk, 3), chunk < 16 ? 5U : 6U);
  for (const int file : go) close(file);
}

TEST_F(PagedSpillTest, FileFull_BlockStaysInMemory) {
  const SmallFiles little(16);
  engine_->reserve(at(0), 8 * k_chunk);
  engine_->reserve(at(20), 8 * k_chunk);
  engine_->reserve(at(30), 8 * k_chunk);
  for (const std::uint64_t chunk : {0, 7, 20, 27, 30, 37}) word(chunk, 1) = chunk + 1;
  for (const std::uint64_t chunk : {0, 7, 20, 27, 30, 37}) EXPECT_EQ(word(chunk, 1), chunk + 1);
  EXPECT_EQ(counts_.refused_bytes, 16 * k_chunk);
  EXPECT_EQ(g_told.find("the backing file has no space for all data: the rest stays in memory (/var/tmp: File"),
            0U);
  EXPECT_EQ(std::ranges::count(g_told, '('), 1) << "once";
}

TEST(PagedSpill, MissingFolder_ThrowsWithItsName) {
  SpillCounts counts{};
  SpillEngine::Parts parts;
  parts.size = SpillEngine::k_chunk;
  parts.folder = "/nowhere/at/all";
  parts.counts = &counts;
  parts.paged = true;
  try {
    make_spill(parts);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "no file for memory in /nowhere/at/all: No such file or directory; name a writable folder on a disk");
  }
}

}  // namespace
}  // namespace terrace::transfer
