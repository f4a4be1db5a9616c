// Tests of kernel-paged blocks, and of the program's operations on parts of blocks.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "spill_fixture.hpp"

namespace terrace::transfer {
namespace {

// An irregularly accessed block is handed over to the kernel during use; another block is not; after its release
// its addresses are fresh.
TEST_P(SpillTest, IrregularBlock_IsHandedOverToKernel) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  auto* const other = memory.allocate(8);
  std::vector<std::vector<std::uint64_t>> own(2, std::vector<std::uint64_t>(k_chunks));
  const auto work = [&](std::size_t thread) {
    std::mt19937 random(static_cast<unsigned>(thread) + 1);
    for (int step = 0; step < 1500; ++step) {
      const auto c = random() % k_chunks;
      data[c * k_words + thread]++;
      own[thread][c]++;
      other[(step % 8) * k_words + thread]++;
    }
  };
  std::thread second(work, 1);
  work(0);
  second.join();
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t thread = 0; thread < 2; ++thread) EXPECT_EQ(data[c * k_words + thread], own[thread][c]) << c;
  EXPECT_EQ(memory.counts().max_kernel_paged, k_chunks * k_chunk);
  memory.release(data);
  auto* const again = memory.allocate(k_chunks);
  EXPECT_EQ(again, data);
  for (std::size_t c = 0; c < k_chunks; ++c) {
    EXPECT_EQ(again[c * k_words], 0U);
    again[c * k_words] = c + 1;
  }
  EXPECT_EQ(memory.counts().kernel_paged, 0U);
  EXPECT_EQ(memory.counts().max_kernel_paged, k_chunks * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_EQ(again[c * k_words], c + 1);
}

// Accesses some words of each chunk repeatedly in the same order, as a column-wise traversal of a row-major array.
TEST_P(SpillTest, SparselyUsedBlock_IsHandedOverToKernel) {
  constexpr std::size_t k_chunks = 60;
  constexpr std::size_t k_row = 5000;
  constexpr std::size_t k_rows = k_chunks * k_words / k_row;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t row = 0; row < k_rows; ++row)
    for (std::size_t i = 0; i < k_row; ++i) data[row * k_row + i] = value(row, i);
  for (std::size_t column = 0; column < 200; ++column) {
    std::uint64_t wrong = 0;
    for (std::size_t row = 0; row < k_rows; ++row)
      wrong += data[row * k_row + column] != value(row, column) ? 1 : 0;
    ASSERT_EQ(wrong, 0U) << column;
  }
  EXPECT_EQ(memory.counts().max_kernel_paged, k_chunks * k_chunk);
  // In chunks each column would have read two thirds of the data.
  EXPECT_LT(memory.counts().read, 60 * k_chunks * k_chunk);
}

// Chunks that were zero or discarded are zero under kernel paging, too, whatever the file held before.
TEST_P(SpillTest, HandedOverBlock_EmptyChunksAreZero) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(3 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  auto* const other = memory.allocate(k_chunks);
  const auto sweep_other = [&] {
    for (std::size_t c = 0; c < k_chunks; ++c) other[c * k_words] += 1;
  };
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) data[i] = value(i, 0);
  sweep_other();  // every chunk has been in the file
  std::memset(data, 0, k_chunks / 3 * k_chunk);
  sweep_other();
  memory.spill().discard(reinterpret_cast<std::uint64_t>(data + k_chunks / 3 * k_words), k_chunks / 3 * k_chunk);
  const auto right = [&](std::size_t c) {
    for (std::size_t i = c * k_words; i < (c + 1) * k_words; i += 512)
      if (data[i] != (c < k_chunks / 3 * 2 ? 0 : value(i, 0))) return false;
    return true;
  };
  std::mt19937 random(5);
  for (int step = 0; step < 4000 && memory.counts().kernel_paged == 0; ++step) {
    const auto c = k_chunks / 3 * 2 + random() % (k_chunks / 3);
    ASSERT_EQ(data[c * k_words], value(c * k_words, 0));
    if (step % 2 == 0) other[random() % k_chunks * k_words] += 1;
  }
  EXPECT_GT(memory.counts().kernel_paged, 0U);
  for (std::size_t c = 0; c < k_chunks; ++c) EXPECT_TRUE(right(c)) << c;
}

TEST_P(SpillTest, PagesFreedByMadvise_AreZero) {
  Spilled memory(8, GetParam());
  auto* const data = memory.allocate(2);
  for (std::size_t i = 0; i < 2 * k_words; ++i) data[i] = i + 1;
  constexpr std::size_t k_words_of_a_page = k_page / sizeof(std::uint64_t);
  ASSERT_EQ(madvise(data + 7 * k_words_of_a_page, k_page, MADV_DONTNEED), 0);
  for (std::size_t i = 0; i < 2 * k_words; ++i)
    ASSERT_EQ(data[i], i / k_words_of_a_page == 7 ? 0 : i + 1) << "word " << i;
}

// UFFDIO_MOVE fails for ranges with different protection: pages are copied, or stay.
TEST_P(SpillTest, PartlyProtectedChunk_KeepsContent) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto sweep = [&](bool write) {
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512) {
        if (write) data[c * k_words + i] = value(c * k_words + i, 5);
        ASSERT_EQ(data[c * k_words + i], value(c * k_words + i, 5));
      }
  };
  sweep(true);
  auto* const half = data + 3 * k_words + k_words / 2;  // swapped out by now
  ASSERT_EQ(mprotect(half, k_chunk / 2, PROT_READ), 0);
  sweep(false);
  sweep(false);
  ASSERT_EQ(mprotect(half, k_chunk / 2, PROT_READ | PROT_WRITE), 0);
  sweep(true);
  sweep(false);
}

// A block whose protection was changed and restored may be handed over.
TEST_P(SpillTest, RestoredProtection_BlockIsHandedOver) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(2 * k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (const bool usual : {false, true})
    memory.spill().change_protection(reinterpret_cast<std::uint64_t>(data), k_chunks * k_chunk, usual);
  std::mt19937 random(3);
  for (int step = 0; step < 6000 && memory.counts().kernel_paged == 0; ++step)
    data[random() % k_chunks * k_words] += 1;
  EXPECT_EQ(memory.counts().kernel_paged, k_chunks * k_chunk);
}

// Parts of a block may be released or discarded in any state; the counters return to zero.
TEST_P(SpillTest, PartialReleaseAndDiscard_InAnyState_KeepCounts) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  const auto at = [&](std::size_t chunk) { return reinterpret_cast<std::uint64_t>(data + chunk * k_words); };
  for (std::size_t c = 0; c < k_chunks; ++c) data[c * k_words + 9] = c + 1;
  memory.spill().discard(at(5), 20 * k_chunk);
  EXPECT_EQ(memory.counts().content, 40 * k_chunk);
  for (std::size_t c = 0; c < k_chunks; ++c)
    ASSERT_EQ(data[c * k_words + 9], c >= 5 && c < 25 ? 0 : c + 1) << "chunk " << c;
  memory.spill().release(at(30), 30 * k_chunk);  // its end
  memory.spill().release(at(0), 10 * k_chunk);   // its beginning
  for (std::size_t c = 25; c < 30; ++c) ASSERT_EQ(data[c * k_words + 9], c + 1);
  memory.spill().release(at(10), 20 * k_chunk);
  EXPECT_EQ(memory.counts().content, 0U);
  memory.release(data);
}

// Chunks released to the program stay resident, whatever the demand; a mapping of the program over a part
// survives.
TEST_P(SpillTest, Leave_ChunksStayAndMappingsSurvive) {
  constexpr std::size_t k_chunks = 60;
  Spilled memory(k_chunks, GetParam());
  auto* const data = memory.allocate(k_chunks);
  for (std::size_t c = 0; c < k_chunks; ++c)
    for (std::size_t i = 0; i < k_words; i += 512) data[c * k_words + i] = value(c * k_words + i, 3);
  auto* const left = data + 4 * k_words;
  memory.spill().unmanage(reinterpret_cast<std::uint64_t>(left), 3 * k_chunk);
  EXPECT_EQ(memory.counts().content, (k_chunks - 3) * k_chunk);
  auto* const own = mmap(left + k_words, k_chunk / 2, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  ASSERT_EQ(own, left + k_words);
  for (int round = 0; round < 3; ++round)
    for (std::size_t c = 0; c < k_chunks; ++c)
      for (std::size_t i = 0; i < k_words; i += 512)
        ASSERT_EQ(data[c * k_words + i], c == 5 && i < k_words / 2 ? 0 : value(c * k_words + i, 3)) << c;
  memory.release(data);
  EXPECT_EQ(memory.counts().content, 0U);
  auto* const again = memory.allocate(k_chunks);
  ASSERT_EQ(again, data);
  for (std::size_t i = 0; i < k_chunks * k_words; i += 512) ASSERT_EQ(std::exchange(again[i], i), 0U);
}

}  // namespace
}  // namespace terrace::transfer
