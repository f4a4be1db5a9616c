// Tests of page exchange during concurrent use: no write is lost, and no mapping is left.
#include "transfer/exchange/page_exchange.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "exchange_stress.hpp"
#include "support/real_memory.hpp"
#include "transfer/exchange/exchange_lock.hpp"
#include "transfer/exchange/userfault.hpp"

namespace terrace::transfer {
namespace {

using tests::Mapping;

constexpr int k_node = 0;
constexpr std::size_t k_chunk = k_huge_page;
constexpr std::size_t k_chunks = 4;

class Account final : public SlotAccounting {
 public:
  bool charge(int, std::size_t size) noexcept override {
    if (!allows) return false;
    held += size;
    return true;
  }
  void uncharge(int, std::size_t size) noexcept override { held -= size; }
  bool allows = true;
  std::size_t held = 0;
};

std::size_t lines_of(const char* file) {
  std::ifstream text(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(text, line);) ++lines;
  return lines;
}

std::size_t resident_pages() {
  std::size_t size = 0;
  std::size_t resident_bytes = 0;
  std::ifstream("/proc/self/statm") >> size >> resident_bytes;
  return resident_bytes;
}

class PageExchangeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Userfault().is_available()) GTEST_SKIP() << "this system does not let pages be moved";
    exchange_ = std::make_unique<PageExchange>(account_, 1, 2);
  }
  // Fills chunks of huge or base pages with position-dependent values.
  std::uint64_t* numbers(bool huge) {
    map_ = std::make_unique<Mapping>(k_chunks * k_chunk, k_huge_page);
    auto* const all = reinterpret_cast<std::uint64_t*>(map_->address());
    madvise(all, k_chunks * k_chunk, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < k_numbers; ++i) all[i] = i;
    return all;
  }
  [[nodiscard]] std::uint64_t chunk(std::size_t number) const { return map_->address() + number * k_chunk; }

  static constexpr std::size_t k_numbers = k_chunks * k_chunk / sizeof(std::uint64_t);
  Account account_;
  std::unique_ptr<PageExchange> exchange_;
  std::unique_ptr<Mapping> map_;
};

TEST_F(PageExchangeTest, Migration_KeepsContentAndAddresses) {
  for (const bool huge : {true, false}) {
    const auto* const all = numbers(huge);
    for (const std::size_t size : {k_page, 16 * k_page, k_chunk, 3 * k_chunk})
      for (int round = 0; round < 3; ++round)
        EXPECT_EQ(exchange_->migrate_range(chunk(0), size, k_node), 0) << size;
    EXPECT_EQ(exchange_->migrate_range(chunk(2) + k_page, k_chunk, k_node), 0) << "over two huge pages";
    for (std::size_t i = 0; i < k_numbers; ++i) ASSERT_EQ(all[i], i);
    for (const int node : tests::kernel_nodes(chunk(0), k_chunks * k_chunk / k_page)) ASSERT_EQ(node, k_node);
  }
}

TEST_F(PageExchangeTest, ConcurrentWrites_AreNotLost) {
  constexpr int k_writers = 2;
  constexpr std::uint64_t k_min = 100;  // exchanges and system calls
  auto* const all = numbers(true);
  std::vector<std::atomic<std::uint64_t>> added(k_writers);
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int w = 0; w < k_writers; ++w)
    writers.emplace_back([&, w] {
      std::mt19937_64 random(static_cast<std::uint64_t>(w));
      while (!stop) {
        // Own words by plain stores, shared words by atomics.
        auto& own = all[random() % (k_numbers / k_writers) * k_writers + static_cast<std::size_t>(w)];
        __atomic_store_n(&own, __atomic_load_n(&own, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
        ++added[static_cast<std::size_t>(w)];
      }
    });
  // The kernel writes and reads another chunk.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Mapping buffer(k_chunk, k_huge_page);
  madvise(buffer.page(0), k_chunk, MADV_HUGEPAGE);
  buffer.touch(0, k_chunk / k_page);
  std::atomic<std::uint64_t> calls{0};
  std::uint64_t failed = 0;
  std::thread caller([&] {
    std::vector<unsigned char> text(k_page);
    std::vector<unsigned char> back(k_page);
    for (; !stop; ++calls) {
      auto* const page = buffer.page(calls % (k_chunk / k_page));
      std::fill(text.begin(), text.end(), static_cast<unsigned char>(calls));
      for (const bool out : {false, true}) {
        // Raw system calls: tools that intercept the C library's would count them as accesses of this thread.
        failed += syscall(SYS_write, ends[1], out ? page : text.data(), k_page) != static_cast<long>(k_page);
        failed += syscall(SYS_read, ends[0], out ? back.data() : page, k_page) != static_cast<long>(k_page);
      }
      failed += text != back;
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::uint64_t moves = 0;
  while (std::chrono::steady_clock::now() < end || moves < k_min || calls < k_min)
    for (std::size_t c = 0; c <= k_chunks; ++c)
      moves += exchange_->migrate_range(c < k_chunks ? chunk(c) : buffer.address(), k_chunk, k_node) == 0;
  stop = true;
  for (auto& writer : writers) writer.join();
  caller.join();
  close(ends[0]);
  close(ends[1]);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < k_numbers; ++i) sum += all[i] - i;
  EXPECT_EQ(sum, added[0] + added[1]);
  EXPECT_EQ(failed, 0U);
}

TEST_F(PageExchangeTest, Destructor_LeavesNoMappings) {
  numbers(true);
  const auto go = [&] {
    for (int round = 0; round < 50; ++round)
      for (std::size_t c = 0; c < k_chunks; ++c) ASSERT_EQ(exchange_->migrate_range(chunk(c), k_chunk, k_node), 0);
    exchange_->settle_accounting();
  };
  go();
  lines_of("/proc/self/maps");  // allocates what later reads need
  const auto mappings = lines_of("/proc/self/maps");
  const auto pages = resident_pages();
  go();
  EXPECT_LE(lines_of("/proc/self/maps"), mappings + 1);
  EXPECT_NEAR(static_cast<double>(resident_pages()), static_cast<double>(pages), 600);
}

TEST_F(PageExchangeTest, CachedPages_AreCharged) {
  numbers(true);
  ASSERT_EQ(exchange_->migrate_range(chunk(0), k_chunk, k_node), 0);
  EXPECT_EQ(account_.held, 0U);
  exchange_->settle_accounting();
  EXPECT_GE(account_.held, k_chunk);
  EXPECT_LE(account_.held, 2 * k_chunk);
  EXPECT_TRUE(exchange_->trim(k_node));
  EXPECT_EQ(account_.held, 0U);
  account_.allows = false;
  ASSERT_EQ(exchange_->migrate_range(chunk(0), k_chunk, k_node), 0);
  exchange_->settle_accounting();
  EXPECT_EQ(account_.held, 0U);
  EXPECT_FALSE(exchange_->trim(k_node));
}

TEST_F(PageExchangeTest, CachedPages_ServeSmallerChunks) {
  numbers(false);
  // The first piece measures the copy kernels, between slots that stay filled.
  ASSERT_EQ(exchange_->migrate_range(chunk(0), k_chunk, k_node), 0);
  exchange_->settle_accounting();
  while (exchange_->trim(k_node)) continue;
  ASSERT_EQ(exchange_->migrate_range(chunk(0), k_chunk, k_node), 0);
  exchange_->settle_accounting();
  ASSERT_EQ(account_.held, k_chunk);
  for (const std::size_t size : {16 * k_page, 3 * k_page, 100 * k_page}) {
    ASSERT_EQ(exchange_->migrate_range(chunk(1), size, k_node), 0);
    exchange_->settle_accounting();
    EXPECT_LE(account_.held, k_chunk) << size;  // at most two slots stay filled
  }
}

// Huge pages are exchanged for huge ones, also after and between exchanges of base pages.
TEST_F(PageExchangeTest, HugePages_StayHuge) {
  numbers(true);
  const memory::PageMap pages;
  if (!pages.may_be_huge(chunk(0))) GTEST_SKIP() << "the kernel gave no huge page";
  const Mapping small(k_chunk, k_huge_page);
  madvise(small.page(0), k_chunk, MADV_NOHUGEPAGE);
  small.touch(0, k_chunk / k_page);
  ASSERT_FALSE(pages.may_be_huge(small.address())) << "this kernel does not say which pages are huge";
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(exchange_->migrate_range(small.address(), k_chunk, k_node), 0);
    for (std::size_t c = 0; c < k_chunks; ++c) {
      ASSERT_EQ(exchange_->migrate_range(chunk(c), k_chunk, k_node), 0);
      EXPECT_TRUE(pages.may_be_huge(chunk(c))) << round << ' ' << c;
    }
    EXPECT_FALSE(pages.may_be_huge(small.address())) << round;
  }
}

TEST_F(PageExchangeTest, Failure_RangeIsComplete) {
  auto* const all = numbers(false);
  // A write-protected part.
  ASSERT_EQ(mprotect(reinterpret_cast<char*>(all) + 8 * k_page, k_page, PROT_READ), 0);
  EXPECT_NE(exchange_->migrate_range(chunk(0), k_chunk, k_node), 0);
  // A missing node.
  EXPECT_NE(exchange_->migrate_range(chunk(1), k_chunk, 1000), 0);
  for (std::size_t i = 0; i < k_numbers; ++i) ASSERT_EQ(all[i], i);
}

TEST_F(PageExchangeTest, UntouchedPages_ReadAsZero) {
  const Mapping map(k_chunk, k_huge_page);
  madvise(map.page(0), k_chunk, MADV_NOHUGEPAGE);
  map.touch(0, 100);
  map.touch(200, 312);
  EXPECT_EQ(exchange_->migrate_range(map.address(), k_chunk, k_node), ENOENT);
  for (std::size_t page = 0; page < 512; ++page)
    ASSERT_EQ(*map.page(page), page >= 100 && page < 200 ? 0 : static_cast<unsigned char>(page + 1)) << page;
}

TEST_F(PageExchangeTest, ForkedChild_HasItsOwnCopy) {
  auto* const all = numbers(false);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto child = fork();
  if (child == 0) {
    char go = 0;
    const bool told = read(ends[0], &go, 1) == 1;
    bool right = told;
    for (std::size_t i = 0; i < k_numbers; ++i) right = right && all[i] == i;
    _exit(right ? 0 : 1);
  }
  EXPECT_EQ(exchange_->migrate_range(chunk(0), 2 * k_chunk, k_node), 0);
  for (std::size_t i = 0; i < k_numbers; ++i) all[i] += 1;
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (std::size_t i = 0; i < k_numbers; ++i) ASSERT_EQ(all[i], i + 1);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(PageExchangeTest, Fork_WaitsForExchange) {
  const auto* const all = numbers(true);
  std::atomic<bool> stop{false};
  std::thread mover([&] {
    while (!stop)
      for (std::size_t c = 0; c < k_chunks; ++c) exchange_->migrate_range(chunk(c), k_chunk, k_node);
  });
  for (int round = 0; round < 20; ++round) {
    suspend_exchanges();
    const auto child = fork();
    if (child == 0) {
      reset_exchanges_in_child();
      bool right = true;
      for (std::size_t i = 0; i < k_numbers; i += 64) right = right && all[i] == i;
      suspend_exchanges();
      resume_exchanges();
      _exit(right ? 0 : 1);
    }
    resume_exchanges();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << round;
  }
  stop = true;
  mover.join();
}

TEST(CopyKernels, EachKernel_CopiesExactlyTheRange) {
  const Mapping from(4 * k_page);
  const Mapping to(4 * k_page);
  for (std::size_t i = 0; i < 4 * k_page; ++i) from.page(0)[i] = static_cast<unsigned char>(i * 7);
  for (const auto& kernel : copy_kernels()) {
    std::memset(to.page(0), 1, 4 * k_page);
    kernel.copy(to.page(1), from.page(0), 2 * k_page);
    EXPECT_EQ(std::memcmp(to.page(1), from.page(0), 2 * k_page), 0) << kernel.name;
    EXPECT_EQ(*to.page(3), 1) << kernel.name;
    EXPECT_EQ(to.page(1)[-1], 1) << kernel.name;
  }
}

TEST(ExchangeStress, ConcurrentAccess_LosesNoWrite) {
  if (!Userfault().is_available()) GTEST_SKIP() << "this system does not let pages be moved";
  for (const std::size_t copiers : {1, 3}) {
    const auto counts = tests::ExchangeStress(copiers).run(std::chrono::milliseconds(2500));
    EXPECT_EQ(counts.lost, 0u) << copiers;
    EXPECT_GT(counts.exchanges, 0u) << copiers;
    EXPECT_GT(counts.increments, 0u) << copiers;
    EXPECT_GT(counts.calls, 0u) << copiers;
  }
}

}  // namespace

}  // namespace terrace::transfer
